import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Generation as Message } from "../../../src/proto/gen/gitaly_gossip/v1/Generation.ts";
import { messageCodec } from "../../../src/proto/index.ts";
import { decodeGeneration, encodeGeneration, type GenerationDraft } from "../../../src/storage/generation-codec.ts";
import { artifactName } from "../../../src/storage/keys.ts";

const codec = messageCodec<Message, object>("gitaly_gossip.v1.Generation");
const id = (digit: string) => digit.repeat(32);
const artifact = (ext: "pack" | "idx" | "rev" | "bitmap" | "refs", digit = "1") => ({
  name: artifactName({ repoId: id("a"), gcEpoch: 3, txid: id("b"), sha256: digit.repeat(64), ext }),
  sizeBytes: 1234,
});
const draft: GenerationDraft = {
  format: 1,
  n: 7,
  parentDigest: "e".repeat(64),
  txid: id("b"),
  writer: "node:8075",
  writtenAtMs: 1_700_000_000_000,
  state: "live",
  repoId: id("a"),
  poolId: id("d"),
  path: "gruppe/ü.git",
  objectFormat: "sha256",
  createdAtMs: 1_600_000_000_000,
  head: "refs/heads/m\xe4in",
  refTables: [artifact("refs")],
  inlineRefTable: Uint8Array.from([1, 2, 3]),
  packs: [
    { pack: artifact("pack"), index: artifact("idx"), objectCount: 9 },
    { pack: artifact("pack", "2"), index: artifact("idx", "2"), reverseIndex: artifact("rev"), bitmap: artifact("bitmap"), objectCount: 0 },
  ],
  settings: { replicas: 3, placement: "zone-a" },
  pruneEpoch: 1,
  gcEpoch: 3,
  bumpGen: 5,
  trash: { [artifact("pack", "3").name]: 6 },
};

test("a record read back is the generation that was written", () => {
  const { bytes, generation } = encodeGeneration(draft);
  expect(decodeGeneration(bytes, { n: 7, path: draft.path })).toEqual(generation);
  expect(generation).toMatchObject(draft);
});

test("records are what they always were, byte for byte", async () => {
  const golden = new URL("golden/generation.hex", import.meta.url);
  const hex = Buffer.from(encodeGeneration(draft).bytes).toString("hex");
  if (process.env["UPDATE_GOLDEN"]) await writeFile(golden, `${hex.replace(/.{120}/g, "$&\n")}\n`);
  const stored = (await readFile(golden, "utf8")).replaceAll("\n", "");
  expect(hex).toBe(stored);
  expect(decodeGeneration(Buffer.from(stored, "hex"), { n: 7 })).toMatchObject(draft);
});

test("the first generation has no parent", () => {
  const { bytes, generation } = encodeGeneration({ ...draft, n: 1, parentDigest: "" });
  expect(decodeGeneration(bytes, { n: 1 })).toEqual(generation);
});

test("a record in a wrong slot or of another path is corrupt", () => {
  const { bytes } = encodeGeneration(draft);
  expect(() => decodeGeneration(bytes, { n: 8 })).toThrowError(expect.objectContaining({ code: "corrupt" }));
  expect(() => decodeGeneration(bytes, { n: 7, path: "other" })).toThrowError(expect.objectContaining({ code: "corrupt" }));
});

const name = artifact("pack").name;
const damages: Readonly<Record<string, Message>> = {
  "an unknown format": { format: 2 },
  "a short parent digest": { parentDigest: Buffer.alloc(31) },
  "a foreign transaction id": { txid: "../../x" },
  "an upper-case repository id": { repoId: id("A") },
  "no pool": { poolId: "" },
  "an unknown state": { state: "STATE_UNSPECIFIED" },
  "an unknown object format": { objectFormat: "OBJECT_FORMAT_UNSPECIFIED" },
  "an illegal path": { path: "a/../b" },
  "a HEAD outside refs": { head: Buffer.from("HEAD") },
  "a HEAD with a newline": { head: Buffer.from("refs/heads/a\nb") },
  "a path as an artifact's name": { packs: [{ pack: { name: `../${name}` }, index: artifact("idx") }] },
  "an index in a pack's place": { packs: [{ pack: artifact("idx"), index: artifact("idx") }] },
  "a pack without an index": { packs: [{ pack: artifact("pack"), index: null }] },
  "a size beyond 2^53": { refTables: [{ name: artifact("refs").name, sizeBytes: "9007199254740993" }] },
  "too many ref tables": { refTables: Array.from({ length: 65 }, () => artifact("refs")) },
  "a large inline ref table": { inlineRefTable: Buffer.alloc(65 * 1024) },
  "artifacts though deleted": { state: "STATE_DELETED" },
  "a long writer": { writer: "w".repeat(257) },
  "trash that is no artifact": { trash: { x: 1 } },
};

test.each(Object.entries(damages))("a record with %s is corrupt", (_, damage) => {
  const message: Message = {
    ...draft,
    parentDigest: Buffer.from(draft.parentDigest, "hex"),
    state: "STATE_LIVE",
    objectFormat: "OBJECT_FORMAT_SHA256",
    head: Buffer.from(draft.head, "latin1"),
    refTables: [...draft.refTables],
    packs: [...draft.packs],
    ...damage,
  };
  expect(() => decodeGeneration(codec.encode(message), { n: 7 })).toThrowError(expect.objectContaining({ code: "corrupt" }));
});

test("a record with more packs than readers accept is not written", () => {
  const packs = Array.from({ length: 10_001 }, () => draft.packs[0] as (typeof draft.packs)[number]);
  expect(() => encodeGeneration({ ...draft, packs })).toThrowError(expect.objectContaining({ code: "limit_exceeded" }));
});

test("a record with a field that a later version added is refused at any depth, since a successor would lose it", () => {
  const { bytes } = encodeGeneration(draft);
  const and = (...more: number[]) => Buffer.concat([bytes, Buffer.from(more)]);
  const settings = [0x8a, 0x01, 2];
  expect(decodeGeneration(and(...settings, 1 << 3, 1), { n: 7 }).settings.replicas).toBe(1);
  for (const record of [and(0xb0, 0x01, 1), and(...settings, 3 << 3, 1)]) {
    expect(() => decodeGeneration(record, { n: 7 })).toThrowError(
      expect.objectContaining({ code: "corrupt", fields: { problem: "record has a format this version does not know" } }),
    );
  }
});

test("sizes, counts and epochs up to 2^53 - 1 are kept, and larger ones are refused", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const large = { name: artifact("pack").name, sizeBytes: most };
  const edge: GenerationDraft = {
    ...draft,
    n: most,
    writtenAtMs: most,
    createdAtMs: most,
    pruneEpoch: most,
    gcEpoch: most,
    bumpGen: most,
    packs: [{ pack: large, index: artifact("idx"), objectCount: most }],
    trash: { [artifact("pack", "3").name]: most },
  };
  const { bytes } = encodeGeneration(edge);
  expect(decodeGeneration(bytes, { n: most })).toMatchObject(edge);
  const beyond = codec.encode({ format: 1, n: String(2 ** 53) });
  expect(() => decodeGeneration(beyond, { n: 2 ** 53 })).toThrowError(expect.objectContaining({ code: "corrupt" }));
});

test.each([
  ["a writer's name of 257 characters", { writer: "x".repeat(257) }],
  ["a large inline ref table", { inlineRefTable: new Uint8Array(65_537) }],
  ["a HEAD that is no ref", { head: "main" }],
  ["an epoch beyond 2^53", { gcEpoch: 2 ** 53 }],
  ["artifacts of a deleted repository", { state: "deleted" }],
] as const)("a record with %s is not written, as it could never be replaced", (_, wrong) => {
  expect(() => encodeGeneration({ ...draft, ...wrong })).toThrowError(expect.objectContaining({ code: "internal" }));
});
