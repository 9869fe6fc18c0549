import { type ByteString, type Clock, CodedError, type Random, randomHex, startDeadline } from "../base/index.ts";
import type { Generation, ObjectFormat } from "./generation.ts";
import { encodeGeneration, type GenerationDraft, generationFormat } from "./generation-codec.ts";
import type { GenerationReader } from "./generation-reader.ts";
import { encodeRepositoryPath, idByteCount, markerKey } from "./keys.ts";
import type { ObjectStore } from "./object-store.ts";
import { isRefName } from "./ref-name.ts";
import { fillSlot, type SlotOutcome } from "./slot.ts";
import { successor } from "./successor.ts";

export interface LifeOptions {
  /** Name of this node, kept in the records it writes. */
  readonly writer: string;
  /** Longest time for a create or a removal, in milliseconds. */
  readonly commitTimeoutMs: number;
}

export interface LifeDeps {
  readonly store: ObjectStore;
  readonly reader: GenerationReader;
  readonly clock: Clock;
  readonly random: Random;
}

/** Begins a life of a repository: a new id and a new pool, its marker first, then an empty generation. */
export async function createRepository(
  path: string,
  { objectFormat, head }: { objectFormat: ObjectFormat; head: ByteString },
  options: LifeOptions,
  deps: LifeDeps,
  signal: AbortSignal,
): Promise<Generation> {
  if (!isRefName(head)) throw new CodedError("invalid_argument", "HEAD must name a reference below refs/", { relativePath: path });
  using deadline = startDeadline(deps.clock, options.commitTimeoutMs, signal);
  for (;;) {
    const before = await deps.reader.newest(path, deadline.signal);
    if (before?.state === "live") throw new CodedError("repository_exists", "repository exists already", { relativePath: path });
    const nowMs = deps.clock.now();
    const draft: GenerationDraft = {
      format: generationFormat,
      n: (before?.n ?? 0) + 1,
      parentDigest: before?.digest ?? "",
      txid: randomHex(deps.random, idByteCount),
      writer: options.writer,
      writtenAtMs: nowMs,
      state: "live",
      repoId: randomHex(deps.random, idByteCount),
      poolId: randomHex(deps.random, idByteCount),
      path,
      objectFormat,
      createdAtMs: nowMs,
      head,
      refTables: [],
      inlineRefTable: new Uint8Array(),
      packs: [],
      settings: { replicas: 0, placement: "" },
      pruneEpoch: 0,
      gcEpoch: 0,
      bumpGen: 0,
      trash: before?.trash ?? {},
    };
    const record = encodeGeneration(draft);
    await deps.store.put(markerKey(draft.poolId, draft.repoId, draft.n, encodeRepositoryPath(path)), new Uint8Array(), deadline.signal);
    const won = settle(await fillSlot(deps, record, deadline.signal), record.generation, deps);
    if (won) return won;
    // Another writer had the slot: its record is looked at, and a further attempt has ids of its own.
  }
}

/** Ends a life of a repository: a generation that names nothing. */
export async function removeRepository(path: string, options: LifeOptions, deps: LifeDeps, signal: AbortSignal): Promise<Generation> {
  using deadline = startDeadline(deps.clock, options.commitTimeoutMs, signal);
  let repoId: string | undefined;
  for (;;) {
    const base = await deps.reader.newest(path, deadline.signal);
    repoId ??= base?.repoId;
    if (base?.state !== "live" || base.repoId !== repoId) {
      throw new CodedError("repository_not_found", "repository not found", { relativePath: path });
    }
    const by = { txid: randomHex(deps.random, idByteCount), writer: options.writer, writtenAtMs: deps.clock.now() };
    const nothing = { state: "deleted", refTables: [], inlineRefTable: new Uint8Array(), packs: [] } as const;
    const record = encodeGeneration({ ...successor(base, by), ...nothing });
    const won = settle(await fillSlot(deps, record, deadline.signal), record.generation, deps);
    if (won) return won;
  }
}

function settle(outcome: SlotOutcome, generation: Generation, { reader }: LifeDeps): Generation | undefined {
  switch (outcome.outcome) {
    case "won":
      reader.adopt(generation);
      return generation;
    case "lost":
      reader.adopt(outcome.record);
      return undefined;
    case "refused":
      throw outcome.error;
    case "unresolved":
      throw new CodedError(
        "outcome_unknown",
        "the object store did not say whether the change was made; look before trying again",
        { relativePath: generation.path, generation: generation.n },
        { cause: outcome.error },
      );
  }
}
