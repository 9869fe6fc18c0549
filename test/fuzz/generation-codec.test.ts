import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { decodeGeneration, encodeGeneration, type GenerationDraft } from "../../src/storage/generation-codec.ts";

const draft: GenerationDraft = {
  format: 1,
  n: 2,
  parentDigest: "0".repeat(64),
  txid: "1".repeat(32),
  writer: "w",
  writtenAtMs: 1,
  state: "live",
  repoId: "2".repeat(32),
  poolId: "3".repeat(32),
  path: "a/b.git",
  objectFormat: "sha1",
  createdAtMs: 1,
  head: "refs/heads/main",
  refTables: [],
  inlineRefTable: new Uint8Array(40),
  packs: [
    {
      pack: { name: `${"2".repeat(32)}.0.${"1".repeat(32)}.${"4".repeat(64)}.pack`, sizeBytes: 5 },
      index: { name: `${"2".repeat(32)}.0.${"1".repeat(32)}.${"5".repeat(64)}.idx`, sizeBytes: 5 },
      objectCount: 1,
    },
  ],
  settings: { replicas: 0, placement: "" },
  pruneEpoch: 0,
  gcEpoch: 0,
  bumpGen: 0,
  trash: {},
};
const good = encodeGeneration(draft).bytes;

function decodesOrIsCorrupt(bytes: Uint8Array): void {
  try {
    expect(decodeGeneration(bytes, { n: 2, path: "a/b.git" })).toMatchObject({ n: 2, path: "a/b.git" });
  } catch (error) {
    if (!CodedError.is(error, "corrupt")) throw error;
  }
}

test("any bytes are a generation or corrupt", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), decodesOrIsCorrupt), { numRuns: 3000 });
});

test("a damaged record is a generation or corrupt", () => {
  const edit = fc.record({ at: fc.nat(good.length - 1), remove: fc.nat(8), insert: fc.uint8Array({ maxLength: 8 }) });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      let bytes = Buffer.from(good);
      for (const { at, remove, insert } of edits) bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + remove)]);
      decodesOrIsCorrupt(bytes);
    }),
    { numRuns: 3000 },
  );
});
