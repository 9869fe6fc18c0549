import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { CodedError } from "../../src/base/index.ts";
import type { Artifact, Generation, ObjectFormat, Pack, RefEntry, RefTable, RepositoryStorage } from "../../src/storage/index.ts";

/** Bytes of one pack and what lies beside it. */
export interface PackFiles {
  readonly pack: Uint8Array;
  readonly index: Uint8Array;
  readonly reverseIndex?: Uint8Array;
  readonly bitmap?: Uint8Array;
}

/** The read side of a repository storage, in memory, with what a test of the cache wants to see and break. */
export class FakeRepositoryStorage implements Pick<RepositoryStorage, "newest" | "refTable" | "fetchArtifact"> {
  readonly artifacts = new Map<string, Uint8Array>();
  /** Names of the artifacts that were asked for, in order. */
  readonly fetches: string[] = [];
  /** Called before each download is written. */
  beforeFetch: (artifact: Artifact, file: string, signal: AbortSignal) => Promise<void> = async () => {};
  readonly #newest = new Map<string, Generation>();
  readonly #refs = new Map<string, readonly RefEntry[]>();
  #txid = 0;

  /** Makes the next generation of a repository. */
  commit(
    path: string,
    content: { repoId?: string; packs?: readonly PackFiles[]; keep?: readonly Pack[]; refs?: readonly RefEntry[]; format?: ObjectFormat },
  ): Generation {
    const before = this.#newest.get(path);
    const repoId = content.repoId ?? before?.repoId ?? fakeId(path);
    const txid = fakeId(String(++this.#txid));
    const put = (bytes: Uint8Array, extension: string): Artifact => {
      const name = `${repoId}.0.${txid}.${createHash("sha256").update(bytes).digest("hex")}.${extension}`;
      this.artifacts.set(name, bytes);
      return { name, sizeBytes: bytes.length };
    };
    const added = (content.packs ?? []).map(
      (files): Pack => ({
        pack: put(files.pack, "pack"),
        index: put(files.index, "idx"),
        ...(files.reverseIndex ? { reverseIndex: put(files.reverseIndex, "rev") } : {}),
        ...(files.bitmap ? { bitmap: put(files.bitmap, "bitmap") } : {}),
        objectCount: 1,
      }),
    );
    const refs = content.refs ?? (before ? this.#refs.get(before.digest) : undefined) ?? [];
    const generation: Generation = {
      format: 1,
      n: (before?.n ?? 0) + 1,
      parentDigest: before?.digest ?? "",
      txid,
      writer: "test",
      writtenAtMs: 0,
      state: "live",
      repoId,
      poolId: "pool",
      path,
      objectFormat: content.format ?? "sha1",
      createdAtMs: 0,
      head: "refs/heads/main",
      refTables: [],
      inlineRefTable: Buffer.from(JSON.stringify(refs)),
      packs: [...(content.keep ?? before?.packs ?? []), ...added],
      settings: { replicas: 0, placement: "" },
      pruneEpoch: 0,
      gcEpoch: 0,
      bumpGen: 0,
      trash: {},
      digest: createHash("sha256").update(`${repoId} ${txid}`).digest("hex"),
    };
    this.#newest.set(path, generation);
    this.#refs.set(generation.digest, refs);
    return generation;
  }

  async newest(path: string): Promise<Generation | undefined> {
    return this.#newest.get(path);
  }

  async refTable(generation: Generation): Promise<RefTable> {
    return new ListRefTable(this.#refs.get(generation.digest) ?? []);
  }

  async fetchArtifact(_generation: Generation, artifact: Artifact, file: string, signal: AbortSignal): Promise<void> {
    this.fetches.push(artifact.name);
    await this.beforeFetch(artifact, file, signal);
    signal.throwIfAborted();
    const bytes = this.artifacts.get(artifact.name);
    if (!bytes) throw new CodedError("artifact_missing", "artifact is gone", { artifact: artifact.name });
    await writeFile(file, bytes, { flag: "wx" });
  }
}

/** 32 hexadecimal digits, as the ids in artifact names have. */
export function fakeId(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

class ListRefTable implements RefTable {
  readonly #entries: readonly RefEntry[];

  constructor(entries: readonly RefEntry[]) {
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.length;
  }

  get(name: string): RefEntry | undefined {
    return this.#entries.find((entry) => entry.name === name);
  }

  withPrefix(prefix: string): Iterable<RefEntry> {
    return this.#entries.filter((entry) => entry.name.startsWith(prefix));
  }

  toPackedRefs(): Uint8Array {
    const lines = this.#entries.map(({ name, oid, peeled }) => `${oid} ${name}\n${peeled === undefined ? "" : `^${peeled}\n`}`);
    return Buffer.from(`# pack-refs with: peeled fully-peeled sorted \n${lines.join("")}`, "latin1");
  }
}
