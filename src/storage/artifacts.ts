import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { type Clock, CodedError, errnoOf, type Random } from "../base/index.ts";
import type { Artifact, Pack } from "./generation.ts";
import { type ArtifactExt, artifactKey, artifactName, parseArtifactName } from "./keys.ts";
import type { ObjectStore, ObjectStream } from "./object-store.ts";
import { maxRefTableBytes } from "./packed-refs.ts";
import type { LocalPack } from "./repository-storage.ts";
import { together } from "./together.ts";

const maxAttempts = 4;
const retryDelayMs = 100;

export interface ArtifactDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
}

/** Under whose name artifacts are uploaded; fixed when a transaction starts. */
export interface UploadScope {
  readonly poolId: string;
  readonly repoId: string;
  readonly gcEpoch: number;
  readonly txid: string;
}

/** Uploads a pack with what belongs to it, in parallel; resolves when the store has confirmed all of it. */
export async function uploadPack(store: ObjectStore, scope: UploadScope, pack: LocalPack, signal: AbortSignal): Promise<Pack> {
  const files: [ArtifactExt, string][] = [
    ["pack", pack.packFile],
    ["idx", pack.indexFile],
  ];
  if (pack.reverseIndexFile !== undefined) files.push(["rev", pack.reverseIndexFile]);
  const [packArtifact, index, reverseIndex] = (await together(
    files.map(
      ([ext, file]) =>
        (limited: AbortSignal) =>
          uploadFile(store, scope, ext, file, limited),
    ),
    signal,
  )) as [Artifact, Artifact, Artifact?];
  return { pack: packArtifact, index, ...(reverseIndex ? { reverseIndex } : {}), objectCount: pack.objectCount };
}

async function uploadFile(store: ObjectStore, scope: UploadScope, ext: ArtifactExt, file: string, signal: AbortSignal): Promise<Artifact> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024, signal }) as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  const name = artifactName({ ...scope, sha256: hash.digest("hex"), ext });
  await store.put(artifactKey(scope.poolId, name), { file, sizeBytes }, signal);
  return { name, sizeBytes };
}

/** Uploads bytes as an artifact. */
export async function uploadBytes(
  store: ObjectStore,
  scope: UploadScope,
  ext: ArtifactExt,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<Artifact> {
  const name = artifactName({ ...scope, sha256: createHash("sha256").update(bytes).digest("hex"), ext });
  await store.put(artifactKey(scope.poolId, name), bytes, signal);
  return { name, sizeBytes: bytes.length };
}

/** An artifact's bytes, checked. Errors: `artifact_missing`, `corrupt`, `store_unavailable`. */
export async function readArtifact(deps: ArtifactDeps, poolId: string, artifact: Artifact, signal: AbortSignal): Promise<Uint8Array> {
  if (artifact.sizeBytes > maxRefTableBytes) throw new CodedError("corrupt", "a ref table is damaged", { artifact: artifact.name });
  const chunks: Uint8Array[] = [];
  await download(deps, poolId, artifact, signal, {
    reset: async () => void chunks.splice(0),
    write: async (chunk) => void chunks.push(chunk),
  });
  return Buffer.concat(chunks);
}

/** Streams an artifact into a new file, checked but not fsynced; on any failure the file is gone. Errors: as `readArtifact`, and `limit_exceeded`. */
export async function fetchArtifactFile(
  deps: ArtifactDeps,
  poolId: string,
  artifact: Artifact,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const handle = await open(file, "wx", 0o600).catch((error: unknown) => {
    throw localFailure(error);
  });
  let done = false;
  try {
    await download(deps, poolId, artifact, signal, {
      reset: () => handle.truncate(0),
      write: async (chunk, offset) => {
        for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at, chunk.length - at, offset + at)).bytesWritten;
      },
    });
    done = true;
  } catch (error) {
    throw CodedError.is(error) || signal.aborted ? error : localFailure(error);
  } finally {
    await handle.close();
    if (!done) await unlink(file).catch(() => {});
  }
}

interface Sink {
  reset(): Promise<void>;
  write(chunk: Uint8Array, offset: number): Promise<void>;
}

async function download(deps: ArtifactDeps, poolId: string, artifact: Artifact, signal: AbortSignal, sink: Sink): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const failure = await downloadOnce(deps, poolId, artifact, signal, sink);
    if (!failure) return;
    if (attempt === maxAttempts) throw failure;
    await deps.clock.sleep(retryDelayMs * 2 ** (attempt - 1) * (0.5 + deps.random.float()), signal);
    await sink.reset();
  }
}

/** Resolves with the failure that another attempt may mend. What cannot be opened is not among them: the store has tried that again itself. */
async function downloadOnce(
  deps: ArtifactDeps,
  poolId: string,
  artifact: Artifact,
  signal: AbortSignal,
  sink: Sink,
): Promise<CodedError | undefined> {
  await using stream = await deps.store.open(artifactKey(poolId, artifact.name), signal);
  if (!stream) throw new CodedError("artifact_missing", "an artifact is not in the store", { artifact: artifact.name, poolId });
  try {
    await receive(stream, artifact, sink);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const again = CodedError.is(error, "corrupt") || (CodedError.is(error, "store_unavailable") && error.fields["transient"] === true);
    if (!again) throw error;
    return error;
  }
}

async function receive(stream: ObjectStream, artifact: Artifact, sink: Sink): Promise<void> {
  const wrong = (problem: string) => new CodedError("corrupt", "an artifact does not match its name", { artifact: artifact.name, problem });
  if (stream.sizeBytes !== artifact.sizeBytes) throw wrong("length");
  const hash = createHash("sha256");
  let received = 0;
  for await (const chunk of stream.body) {
    if (received + chunk.length > artifact.sizeBytes) throw wrong("too long");
    await sink.write(chunk, received);
    hash.update(chunk);
    received += chunk.length;
  }
  if (received < artifact.sizeBytes) throw wrong("ended early");
  if (hash.digest("hex") !== parseArtifactName(artifact.name)?.sha256) throw wrong("digest");
}

function localFailure(error: unknown): CodedError {
  const errno = errnoOf(error);
  const full = errno === "ENOSPC" || errno === "EDQUOT";
  return new CodedError(full ? "limit_exceeded" : "internal", full ? "the local disk is full" : "an artifact cannot be written to disk", {
    errno,
  });
}
