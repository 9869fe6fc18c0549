import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../src/base/index.ts";
import { encodeGeneration, type GenerationDraft } from "../../../src/storage/generation-codec.ts";
import { GenerationReader } from "../../../src/storage/generation-reader.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { artifactName, slotKey } from "../../../src/storage/keys.ts";
import { successor } from "../../../src/storage/successor.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { localPack, oid, provenStorage, push, refsOf } from "../../support/scratch-storage.ts";
import { tempDir } from "../../support/temp-dir.ts";

let txids = 0;

/** Another writer's record after `base`, put straight into its slot. */
function overtake(store: MemoryObjectStore, base: Generation, change: Partial<GenerationDraft> = {}): Generation {
  const by = { txid: (++txids).toString(16).padStart(32, "0"), writer: "other", writtenAtMs: 0 };
  const { bytes, generation } = encodeGeneration({ ...successor(base, by), ...change });
  store.objects.set(slotKey("p.a", generation.n), { bytes, lastModifiedMs: 0 });
  return generation;
}

const create = (storage: ProbedRepositoryStorage) => storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);

test("uploads may be one collection epoch older than the generation that names them, not two", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const once = overtake(store, base, { gcEpoch: 1, bumpGen: 2 });
  const { generation, results } = await push(storage, base, ["main 0 1"]);
  expect([generation.n, generation.gcEpoch, results[0]?.status]).toEqual([3, once.gcEpoch, "ok"]);
  overtake(store, generation, { gcEpoch: 2, bumpGen: 4 });
  await expect(push(storage, base, ["dev 0 1"])).rejects.toMatchObject({ code: "conflict" });
  expect(await refsOf(storage, (await storage.newest("a", neverAborted)) as Generation)).toEqual(["main 1"]);
});

test("connectivity is asked again on a base that was pruned since, even with the same packs", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  overtake(store, base, { pruneEpoch: 1 });
  const asked: number[] = [];
  const disconnected = async (on: Generation) => {
    asked.push(on.pruneEpoch);
    return ["refs/heads/main"];
  };
  const { results } = await push(storage, base, ["main 0 1"], { disconnected });
  expect(results).toMatchObject([{ status: "rejected", reason: "missing necessary objects" }]);
  expect(asked).toEqual([1]);
});

test("a ref table made for one base is not used on another, and no artifact's name is used twice", async () => {
  await using dir = await tempDir();
  let overtaken = false;
  const puts: string[] = [];
  const store = new MemoryObjectStore({
    intercept: async (op, key) => {
      if (op === "put") puts.push(key);
      if (op === "create" && key === slotKey("p.a", 2) && !overtaken) {
        overtaken = true;
        await push(other, base, ["theirs 0 2"]);
      }
      return undefined;
    },
  });
  await using storage = provenStorage(store, { inlineRefTableBytes: 0 });
  await using other = provenStorage(
    new MemoryObjectStore({ intercept: (op, key) => void (op === "put" && puts.push(key)) }, store.objects),
    {
      inlineRefTableBytes: 0,
    },
  );
  const base = await create(storage);
  const first = await push(storage, base, ["ours 0 1"], { packs: [await localPack(dir.path, "one")] });
  expect(overtaken).toBe(true);
  expect(await refsOf(storage, first.generation)).toEqual(["ours 1", "theirs 2"]);
  // The same table again, by other transactions.
  const { generation } = await push(storage, first.generation, ["ours 1 3"]);
  const back = await push(storage, generation, ["ours 3 1"]);
  expect(back.generation.refTables[0]?.name.split(".")[3]).toBe(first.generation.refTables[0]?.name.split(".")[3]);
  expect(back.generation.refTables).not.toEqual(first.generation.refTables);
  expect(new Set(puts).size).toBe(puts.length);
});

test("a removal that is overtaken by another and a new life does not end that life", async () => {
  const later: (() => Promise<unknown>)[] = [];
  const store = new MemoryObjectStore({
    intercept: async (op, key) => {
      if (op === "create" && key === slotKey("p.a", 2)) await later.shift()?.();
      return undefined;
    },
  });
  await using storage = provenStorage(store);
  await using other = provenStorage(new MemoryObjectStore({}, store.objects));
  await create(storage);
  later.push(async () => {
    await other.remove("a", neverAborted);
    await create(other);
  });
  await expect(storage.remove("a", neverAborted)).rejects.toMatchObject({ code: "repository_not_found" });
  expect(await storage.newest("a", neverAborted)).toMatchObject({ n: 3, state: "live" });
});

test("trash is carried over pushes, removals and new lives; settings and epochs end with a life", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const name = artifactName({ repoId: base.repoId, gcEpoch: 0, txid: "f".repeat(32), sha256: "e".repeat(64), ext: "pack" });
  const kept = { settings: { replicas: 3, placement: "zone-a" }, pruneEpoch: 2, gcEpoch: 1, bumpGen: 2 };
  const changed = overtake(store, base, { ...kept, trash: { [name]: 2 } });
  const pushed = (await push(storage, changed, ["main 0 1"])).generation;
  expect(pushed).toMatchObject({ ...kept, trash: { [name]: 2 } });
  expect(await storage.remove("a", neverAborted)).toMatchObject({ ...kept, trash: { [name]: 2 }, state: "deleted", repoId: base.repoId });
  expect(await create(storage)).toMatchObject({ settings: { replicas: 0, placement: "" }, gcEpoch: 0, trash: { [name]: 2 } });
});

test("a create-only write that cannot be sent again says nothing about the one sent before", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const send = store.createIfAbsent.bind(store);
  let sent = 0;
  store.createIfAbsent = async (key, body, signal) => {
    if (++sent === 2) {
      store.objects.set(key, { bytes: late, lastModifiedMs: 0 });
      throw new CodedError("limit_exceeded", "too many callers wait");
    }
    late = Buffer.from(body);
    return sent === 1 ? { outcome: "unknown", detail: "lost", refused: false } : await send(key, body, signal);
  };
  let late: Uint8Array = new Uint8Array();
  expect((await push(storage, base, ["main 0 1"])).results).toMatchObject([{ ref: "refs/heads/main", status: "ok" }]);
  expect(sent).toBe(2);
});

test("what a node knows of a repository only moves forward", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const first = await create(storage);
  const second = (await push(storage, first, ["main 0 1"])).generation;
  const reader = new GenerationReader({ knownGenerations: 10, knownGenerationsBytes: 100_000 }, { store });
  for (const seen of [first, second, first]) reader.adopt(seen);
  expect(reader.known("a")).toBe(second);
});

test("an object id of zeros as the value of a push's ref is a removal, in a group too", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = (await push(storage, await create(storage), ["main 0 1"])).generation;
  const [gone, again] = await Promise.all([push(storage, base, ["main 1 0"]), push(storage, base, ["main 0 2"])]);
  expect([gone.results[0]?.status, again.results[0]?.status]).toEqual(["ok", "ok"]);
  expect(gone.generation).toBe(again.generation);
  expect((await storage.refTable(again.generation, neverAborted)).get("refs/heads/main")?.oid).toBe(oid("2"));
});
