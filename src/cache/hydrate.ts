import { createHash } from "node:crypto";
import { link, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ByteString, errnoOf, linkSignals, sharedAbortController } from "../base/index.ts";
import type { Artifact, Generation, ObjectFormat, Pack, RefTable } from "../storage/index.ts";
import { artifactDigest } from "./artifact-digest.ts";

/** Every artifact that the packs of a generation consist of. */
export function packArtifacts(generation: Generation): readonly Artifact[] {
  return generation.packs.flatMap(filesOf).map(([, artifact]) => artifact);
}

/** What two generations share exactly when one object directory serves both. */
export function packsKey(generation: Generation): string {
  const hash = createHash("sha256");
  for (const artifact of packArtifacts(generation)) hash.update(`${artifact.name}\n`);
  return hash.digest("hex");
}

/** What two generations share exactly when one git directory serves both. */
export function refsKey(generation: Generation): string {
  const hash = createHash("sha256").update(`${generation.objectFormat}\n${generation.head}\n`, "latin1");
  for (const artifact of generation.refTables) hash.update(`${artifact.name}\n`);
  return hash.update(generation.inlineRefTable).digest("hex");
}

/**
 * Fills `into` with hard links to exactly the packs of the generation. `file` answers an artifact's path on local disk. When one
 * fails the others are called off, and nothing runs on when this rejects.
 */
export async function buildObjectDir(
  into: string,
  generation: Generation,
  file: (artifact: Artifact, signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(join(into, "pack"));
  const paths = await allOrNone(packArtifacts(generation), file, signal);
  const links = generation.packs.map(async (pack) => {
    const base = linkBase(into, generation, pack);
    // In order: git takes a pack for complete as soon as it sees the index.
    for (const [suffix, artifact] of filesOf(pack)) {
      await linkOnce(paths.get(artifact) as string, base + suffix).catch(async (error: unknown) => {
        if (errnoOf(error) !== "ENOENT") throw error;
        // Found damaged by someone else since: it is fetched again.
        await linkOnce(await file(artifact, signal), base + suffix);
      });
    }
  });
  for (const result of await Promise.allSettled(links)) if (result.status === "rejected") throw result.reason;
}

async function allOrNone(
  artifacts: readonly Artifact[],
  file: (artifact: Artifact, signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<Map<Artifact, string>> {
  const siblings = sharedAbortController();
  using linked = linkSignals(signal, siblings.signal);
  const paths = new Map<Artifact, string>();
  await Promise.allSettled(
    artifacts.map(async (artifact) => {
      try {
        paths.set(artifact, await file(artifact, linked.signal));
      } catch (error) {
        siblings.abort(error);
      }
    }),
  );
  linked.signal.throwIfAborted();
  return paths;
}

/** Fills `into` with what makes a directory a repository for git, all refs packed. */
export async function buildGitDir(into: string, format: ObjectFormat, head: ByteString, refs: RefTable): Promise<void> {
  await Promise.all([
    mkdir(join(into, "refs")),
    writeFile(join(into, "HEAD"), `ref: ${head}\n`, "latin1"),
    writeFile(join(into, "packed-refs"), refs.toPackedRefs()),
    writeFile(join(into, "config"), configOf(format)),
  ]);
}

/** Whether each pack's files are there with their sizes. */
export async function isWholeObjectDir(dir: string, generation: Generation): Promise<boolean> {
  const links = generation.packs.flatMap((pack) =>
    filesOf(pack).map(async ([suffix, { sizeBytes }]) => (await stat(linkBase(dir, generation, pack) + suffix)).size === sizeBytes),
  );
  return (await Promise.allSettled(links)).every((result) => result.status === "fulfilled" && result.value);
}

/** Whether everything is there without which git does not take the directory for a repository. */
export async function isWholeGitDir(dir: string): Promise<boolean> {
  const parts = await Promise.allSettled(["refs", "HEAD", "packed-refs", "config"].map((name) => stat(join(dir, name))));
  return parts.every(({ status }) => status === "fulfilled");
}

/** The path of a pack's files without their suffix, named as git names packs. */
function linkBase(dir: string, generation: Generation, pack: Pack): string {
  const digits = generation.objectFormat === "sha1" ? 40 : 64;
  return join(dir, "pack", `pack-${artifactDigest(pack.pack.name).slice(0, digits)}`);
}

function configOf(format: ObjectFormat): string {
  return format === "sha1"
    ? "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
    : "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n";
}

/** Pack first, index last. */
function filesOf(pack: Pack): [suffix: string, artifact: Artifact][] {
  return [
    [".pack", pack.pack],
    ...(pack.reverseIndex ? [[".rev", pack.reverseIndex] as [string, Artifact]] : []),
    ...(pack.bitmap ? [[".bitmap", pack.bitmap] as [string, Artifact]] : []),
    [".idx", pack.index],
  ];
}

/** Two packs of a manifest may be the same bytes under two names; one link serves both. */
async function linkOnce(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
  });
}
