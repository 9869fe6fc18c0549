import { createHash } from "node:crypto";
import { CodedError, checkRelativePath } from "../base/index.ts";
import type { Artifact__Output } from "../proto/gen/gitaly_gossip/v1/Artifact.ts";
import type { Generation__Output, Generation as Message } from "../proto/gen/gitaly_gossip/v1/Generation.ts";
import type { Pack__Output } from "../proto/gen/gitaly_gossip/v1/Pack.ts";
import { messageCodec } from "../proto/index.ts";
import type { Artifact, Generation, Pack } from "./generation.ts";
import { type ArtifactExt, isId, parseArtifactName } from "./keys.ts";
import { isRefName } from "./ref-name.ts";
import { hasUnknownField } from "./unknown-field.ts";

const codec = messageCodec<Message, Generation__Output>("gitaly_gossip.v1.Generation");

/** The version of the record that this code writes; it refuses every other. */
export const generationFormat = 1;

/** Bounds on a record, checked on both sides. */
export const generationLimits = {
  recordBytes: 8 * 1024 * 1024,
  packs: 10_000,
  refTables: 64,
  inlineRefTableBytes: 64 * 1024,
  trash: 20_000,
  textLength: 256,
} as const;

/** A generation that has no stored bytes yet. */
export type GenerationDraft = Omit<Generation, "digest">;

/** The bytes of a record and the generation that every reader will find in them. Errors: `limit_exceeded`; `internal` where they would find none. */
export function encodeGeneration(draft: GenerationDraft): { bytes: Uint8Array; generation: Generation } {
  const limits = generationLimits;
  const bytes = codec.encode({
    ...draft,
    parentDigest: Buffer.from(draft.parentDigest, "hex"),
    state: draft.state === "live" ? "STATE_LIVE" : "STATE_DELETED",
    objectFormat: draft.objectFormat === "sha1" ? "OBJECT_FORMAT_SHA1" : "OBJECT_FORMAT_SHA256",
    head: Buffer.from(draft.head, "latin1"),
    refTables: [...draft.refTables],
    packs: [...draft.packs],
    trash: { ...draft.trash },
  });
  if (bytes.length > limits.recordBytes || draft.packs.length > limits.packs || draft.refTables.length > limits.refTables) {
    throw new CodedError("limit_exceeded", "the repository has too many packs; it must be compacted first", {
      packs: draft.packs.length,
      refTables: draft.refTables.length,
      recordBytes: bytes.length,
    });
  }
  try {
    return { bytes, generation: decodeGeneration(bytes, { n: draft.n, path: draft.path }) };
  } catch (cause) {
    // A slot is never vacated: a record that cannot be read would end its repository.
    const problem = CodedError.is(cause) ? cause.fields["problem"] : undefined;
    throw new CodedError("internal", "a generation record that no one could read was not written", { problem }, { cause });
  }
}

/**
 * Reads a record and checks every field of it. `expected.path` is left out only by a caller that compares the path with the key itself.
 * Errors: `corrupt`.
 */
export function decodeGeneration(bytes: Uint8Array, expected: { n: number; path?: string }): Generation {
  ensure(bytes.length <= generationLimits.recordBytes, "record is too large");
  let message: Generation__Output;
  let unknownField: boolean;
  try {
    message = codec.decode(bytes);
    unknownField = hasUnknownField(bytes);
  } catch {
    throw corrupt("record is not a protobuf message");
  }
  ensure(message.format === generationFormat && !unknownField, "record has a format this version does not know");
  const n = integer(message.n, "n");
  ensure(n === expected.n, "record is not of its slot");
  ensure(message.parentDigest.length === (n === 1 ? 0 : 32), "parent digest has a wrong length");
  ensure(isId(message.txid) && isId(message.repoId) && isId(message.poolId), "an id is malformed");
  ensure(expected.path === undefined || message.path === expected.path, "record is of another path");
  checkPath(message.path);
  const state = message.state === "STATE_LIVE" ? "live" : message.state === "STATE_DELETED" ? "deleted" : undefined;
  ensure(state !== undefined, "state is unknown");
  const objectFormat =
    message.objectFormat === "OBJECT_FORMAT_SHA1" ? "sha1" : message.objectFormat === "OBJECT_FORMAT_SHA256" ? "sha256" : undefined;
  ensure(objectFormat !== undefined, "object format is unknown");
  const head = message.head.toString("latin1");
  ensure(isRefName(head), "HEAD names no reference");
  const limits = generationLimits;
  ensure(message.packs.length <= limits.packs && message.refTables.length <= limits.refTables, "record names too many artifacts");
  ensure(message.inlineRefTable.length <= limits.inlineRefTableBytes, "inline ref table is too large");
  const listsAreEmpty = message.packs.length + message.refTables.length + message.inlineRefTable.length === 0;
  ensure(state === "live" || listsAreEmpty, "a deleted repository names artifacts");
  const settings = message.settings ?? { replicas: 0, placement: "" };
  ensure(message.writer.length <= limits.textLength && settings.placement.length <= limits.textLength, "a text is too long");
  return {
    format: message.format,
    n,
    parentDigest: message.parentDigest.toString("hex"),
    txid: message.txid,
    writer: message.writer,
    writtenAtMs: integer(message.writtenAtMs, "writtenAtMs"),
    state,
    repoId: message.repoId,
    poolId: message.poolId,
    path: message.path,
    objectFormat,
    createdAtMs: integer(message.createdAtMs, "createdAtMs"),
    head,
    refTables: message.refTables.map((table) => artifact(table, "refs")),
    inlineRefTable: new Uint8Array(message.inlineRefTable),
    packs: message.packs.map(pack),
    settings: { replicas: settings.replicas, placement: settings.placement },
    pruneEpoch: integer(message.pruneEpoch, "pruneEpoch"),
    gcEpoch: integer(message.gcEpoch, "gcEpoch"),
    bumpGen: integer(message.bumpGen, "bumpGen"),
    trash: trash(message.trash),
    digest: digestOf(bytes),
  };
}

function pack(message: Pack__Output): Pack {
  return {
    pack: artifact(message.pack, "pack"),
    index: artifact(message.index, "idx"),
    ...(message.reverseIndex ? { reverseIndex: artifact(message.reverseIndex, "rev") } : {}),
    ...(message.bitmap ? { bitmap: artifact(message.bitmap, "bitmap") } : {}),
    objectCount: integer(message.objectCount, "objectCount"),
  };
}

function artifact(message: Artifact__Output | null, ext: ArtifactExt): Artifact {
  ensure(message !== null, "an artifact is not named");
  ensure(parseArtifactName(message.name)?.ext === ext, "an artifact's name is malformed");
  return { name: message.name, sizeBytes: integer(message.sizeBytes, "sizeBytes") };
}

function trash(message: Readonly<Record<string, string>>): Record<string, number> {
  const entries = Object.entries(message);
  ensure(entries.length <= generationLimits.trash, "record has too much trash");
  return Object.fromEntries(
    entries.map(([name, n]) => {
      ensure(parseArtifactName(name) !== undefined, "a trashed artifact's name is malformed");
      return [name, integer(n, "trash")];
    }),
  );
}

function checkPath(path: string): void {
  try {
    checkRelativePath(path);
  } catch {
    throw corrupt("path is not legal");
  }
}

function integer(text: string, field: string): number {
  const value = Number(text);
  ensure(Number.isSafeInteger(value) && value >= 0, "a number is out of range", { field });
  return value;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function ensure(condition: boolean, problem: string, fields?: Record<string, unknown>): asserts condition {
  if (!condition) throw corrupt(problem, fields);
}

function corrupt(problem: string, fields: Record<string, unknown> = {}): CodedError {
  return new CodedError("corrupt", "a generation record is damaged", { problem, ...fields });
}
