import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { MemoryObjectStore } from "../../support/memory-object-store.ts";
import { localPack, oid, provenStorage, push, refsOf, refUpdate } from "../../support/scratch-storage.ts";
import { tempDir } from "../../support/temp-dir.ts";

const create = (storage: ProbedRepositoryStorage, path = "a/b.git") =>
  storage.create(path, { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
const newest = async (storage: ProbedRepositoryStorage, path = "a/b.git") => (await storage.newest(path, neverAborted)) as Generation;
const ok = (result: { results: readonly { status: string }[] }) => result.results.map(({ status }) => status);

test("a repository is created once, removed once, and made anew with another id and pool", async () => {
  await using storage = provenStorage(new MemoryObjectStore());
  expect(await storage.newest("a/b.git", neverAborted)).toBeUndefined();
  const first = await create(storage);
  expect(first).toMatchObject({ n: 1, path: "a/b.git", state: "live", head: "refs/heads/main", writer: "node-a", gcEpoch: 0 });
  expect(await newest(storage)).toEqual(first);
  await expect(create(storage)).rejects.toMatchObject({ code: "repository_exists" });
  expect(await storage.remove("a/b.git", neverAborted)).toMatchObject({ n: 2, state: "deleted", repoId: first.repoId, packs: [] });
  expect(await storage.newest("a/b.git", neverAborted)).toBeUndefined();
  await expect(storage.remove("a/b.git", neverAborted)).rejects.toMatchObject({ code: "repository_not_found" });
  const second = await create(storage);
  expect(second.n).toBe(3);
  expect([second.repoId, second.poolId]).not.toContain(first.repoId);
  expect(second.poolId).not.toBe(first.poolId);
});

test("of many concurrent creates one wins and the others are told that it exists", async () => {
  const objects = new MemoryObjectStore().objects;
  const nodes = Array.from({ length: 8 }, () => provenStorage(new MemoryObjectStore({}, objects)));
  const settled = await Promise.allSettled(nodes.map((node) => create(node)));
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of settled) if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "repository_exists" });
});

test("a new life's marker is in its pool before its first generation", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const { poolId, repoId } = await create(storage);
  const writes = store.requests.filter(({ op }) => op === "put" || op === "create").map(({ key }) => key);
  expect(writes).toEqual([`pools/${poolId}/m/${repoId}.1.p.a%2fb%2egit`, "repos/p.a%2fb%2egit/g/1ffffffffffffe"]);
});

test("a push uploads its pack, moves its refs and is one generation", async () => {
  await using dir = await tempDir();
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const { generation, results } = await push(storage, base, ["main 0 1", "dev 0 2"], { packs: [await localPack(dir.path, "one")] });
  expect(results).toEqual([
    { ref: "refs/heads/main", status: "ok" },
    { ref: "refs/heads/dev", status: "ok" },
  ]);
  expect(generation).toMatchObject({ n: 2, parentDigest: base.digest, repoId: base.repoId, refTables: [] });
  expect(generation.packs).toHaveLength(1);
  expect(await refsOf(storage, generation)).toEqual(["dev 2", "main 1"]);
  await using other = provenStorage(new MemoryObjectStore({}, store.objects));
  expect(await newest(other)).toEqual(generation);
  expect(await refsOf(other, generation)).toEqual(["dev 2", "main 1"]);
  const [pack] = generation.packs;
  for (const artifact of [pack?.pack, pack?.index]) expect(store.objects.has(`pools/${base.poolId}/p/${artifact?.name}`)).toBe(true);
});

test("a push to the newest known generation costs its uploads and one more request; a warm read costs one", async () => {
  await using dir = await tempDir();
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  store.requests.splice(0);
  await push(storage, base, ["main 0 1"], { packs: [await localPack(dir.path, "one")] });
  expect(store.requests.map(({ op }) => op)).toEqual(["put", "put", "create"]);
  store.requests.splice(0);
  await newest(storage);
  expect(store.requests).toEqual([{ op: "get", key: "repos/p.a%2fb%2egit/g/1ffffffffffffc" }]);
});

test("a ref table that outgrows the record becomes an artifact, and shrinks back into it", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store, { inlineRefTableBytes: 200 });
  const base = await create(storage);
  const names = Array.from({ length: 20 }, (_, i) => `b${10 + i}`);
  const large = await push(
    storage,
    base,
    names.map((name) => `${name} 0 1`),
  );
  expect(large.generation.inlineRefTable).toHaveLength(0);
  expect(large.generation.refTables).toHaveLength(1);
  expect(store.objects.has(`pools/${base.poolId}/p/${large.generation.refTables[0]?.name}`)).toBe(true);
  await using other = provenStorage(new MemoryObjectStore({}, store.objects));
  expect(await refsOf(other, await newest(other))).toEqual(names.map((name) => `${name} 1`));
  const small = await push(
    storage,
    large.generation,
    names.slice(1).map((name) => `${name} 1 0`),
  );
  expect(small.generation.refTables).toEqual([]);
  expect(await refsOf(storage, small.generation)).toEqual(["b10 1"]);
});

test("a large ref table is uploaded beside the pack, not after it, and once", async () => {
  await using dir = await tempDir();
  let release = () => {};
  let hold = false;
  const store = new MemoryObjectStore({
    intercept: async (_op, key) => {
      if (hold && key.endsWith(".pack")) await new Promise<void>((resolve) => (release = resolve));
      return undefined;
    },
  });
  await using storage = provenStorage(store, { inlineRefTableBytes: 100 });
  const base = await create(storage);
  hold = true;
  store.requests.splice(0);
  const tables = () => store.requests.filter(({ op, key }) => op === "put" && key.endsWith(".refs")).length;
  const pushing = push(storage, base, ["main 0 1", "dev 0 1"], { packs: [await localPack(dir.path, "one")] });
  while (tables() === 0) await new Promise((resolve) => setImmediate(resolve));
  hold = false;
  while (!store.requests.some(({ key }) => key.endsWith(".pack"))) await new Promise((resolve) => setImmediate(resolve));
  release();
  const { generation } = await pushing;
  expect(generation.refTables).toHaveLength(1);
  expect(tables()).toBe(1);
  await using other = provenStorage(new MemoryObjectStore({}, store.objects));
  expect(await refsOf(other, await newest(other))).toEqual(["dev 1", "main 1"]);
});

// B01: two first pushes that both saw an empty repository.
test("of two first pushes of one ref the second is refused and writes nothing", async () => {
  const store = new MemoryObjectStore();
  await using a = provenStorage(store);
  await using b = provenStorage(new MemoryObjectStore({}, store.objects));
  const base = await create(a);
  expect(ok(await push(a, base, ["main 0 1"]))).toEqual(["ok"]);
  const late = await push(b, base, ["main 0 2"]);
  expect(late.results).toEqual([expect.objectContaining({ status: "rejected", reason: expect.stringContaining("fetch first") })]);
  expect(late.generation.n).toBe(2);
  expect((await newest(b)).n).toBe(2);
  expect(await refsOf(b, late.generation)).toEqual(["main 1"]);
  expect(ok(await push(b, late.generation, ["main 1 3"]))).toEqual(["ok"]);
});

// B03: nothing is named after a time.
test("two pushes in the same tick of a frozen clock are two generations, and both refs stay", async () => {
  const store = new MemoryObjectStore();
  const clock = { now: () => 1000, monotonic: () => 0, sleep: async () => {}, timer: () => ({ [Symbol.dispose]: () => {} }) };
  await using a = provenStorage(store, {}, { clock });
  await using b = provenStorage(new MemoryObjectStore({}, store.objects), {}, { clock });
  const base = await create(a);
  const results = await Promise.all([push(a, base, ["one 0 1"]), push(b, base, ["two 0 2"])]);
  expect(results.map(ok)).toEqual([["ok"], ["ok"]]);
  expect(results.map(({ generation }) => generation.n).sort()).toEqual([2, 3]);
  expect(await refsOf(a, await newest(a))).toEqual(["one 1", "two 2"]);
});

// B05: a node whose upload failed must not take its own view for the truth.
test("after a failed push a node starts from the store's newest generation", async () => {
  await using dir = await tempDir();
  let broken = false;
  const store = new MemoryObjectStore({ intercept: (op) => (broken && op === "put" ? "dropped" : undefined) });
  await using a = provenStorage(store);
  await using b = provenStorage(new MemoryObjectStore({}, store.objects));
  const base = await create(a);
  broken = true;
  const packs = [await localPack(dir.path, "one")];
  await expect(push(a, base, ["main 0 1"], { packs })).rejects.toMatchObject({ code: "store_unavailable" });
  broken = false;
  expect(ok(await push(b, base, ["main 0 2"]))).toEqual(["ok"]);
  const third = await push(a, base, ["main 1 3"], { packs });
  expect(ok(third)).toEqual(["rejected"]);
  expect(await refsOf(a, third.generation)).toEqual(["main 2"]);
});

// B06: names carry repository, epoch, transaction and digest, so two pushes never share one.
test("a losing push overwrites nothing of the winner, even with the same bytes", async () => {
  await using dir = await tempDir();
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  const packs = [await localPack(dir.path, "same")];
  const won = await push(storage, base, ["main 0 1"], { packs });
  const lost = await push(storage, base, ["main 0 2"], { packs });
  expect([ok(won), ok(lost)]).toEqual([["ok"], ["rejected"]]);
  const keys = store.requests.filter(({ op }) => op === "put").map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

// B93: a client that repeats a push whose answer it missed.
test("a repeated push is told ok and writes no generation", async () => {
  await using storage = provenStorage(new MemoryObjectStore());
  const base = await create(storage);
  expect(ok(await push(storage, base, ["main 0 1"]))).toEqual(["ok"]);
  const again = await push(storage, base, ["main 0 1"]);
  expect(ok(again)).toEqual(["ok"]);
  expect(again.generation.n).toBe(2);
  expect((await newest(storage)).n).toBe(2);
});

test("a ref that only looks as if it had its new value, because this node's view is old, is written", async () => {
  const store = new MemoryObjectStore();
  await using a = provenStorage(store);
  await using b = provenStorage(new MemoryObjectStore({}, store.objects));
  const { generation: old } = await push(a, await create(a), ["main 0 1"]);
  await newest(b);
  await push(a, old, ["main 1 0", "dev 0 1"]);
  const again = await push(b, old, ["main 0 1"]);
  expect(ok(again)).toEqual(["ok"]);
  expect(again.generation.n).toBe(4);
  // A refusal, too, rests on a look that was made after the push came.
  await push(a, again.generation, ["dev 1 2"]);
  expect(ok(await push(b, again.generation, ["dev 2 3"]))).toEqual(["ok"]);
});

test("pushes that arrive while one is written go into one generation together, each with its own answers", async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let creates = 0;
  const store = new MemoryObjectStore({
    intercept: async (op) => {
      if (op === "create" && ++creates === 2) await gate;
      return undefined;
    },
  });
  await using storage = provenStorage(store);
  const base = await create(storage);
  const first = push(storage, base, ["first 0 1"]);
  await new Promise((resolve) => setImmediate(resolve));
  const others = Array.from({ length: 20 }, (_, i) => push(storage, base, [`b${i} 0 1`, `shared 0 ${i % 9}${1}`]));
  await new Promise((resolve) => setImmediate(resolve));
  release();
  expect((await first).generation.n).toBe(2);
  const results = await Promise.all(others);
  expect(new Set(results.map(({ generation }) => generation.n))).toEqual(new Set([3]));
  expect(results.map((result) => ok(result)[0])).toEqual(results.map(() => "ok"));
});

test("pushes of many nodes to different refs all land; generations are contiguous", async () => {
  const objects = new MemoryObjectStore().objects;
  const nodes = Array.from({ length: 6 }, () => provenStorage(new MemoryObjectStore({}, objects)));
  const [first] = nodes as [ProbedRepositoryStorage];
  const base = await create(first);
  const results = await Promise.all(nodes.flatMap((node, i) => [0, 1, 2, 3].map((j) => push(node, base, [`r${i}-${j} 0 1`]))));
  expect(results.flatMap(ok)).toEqual(Array.from({ length: 24 }, () => "ok"));
  expect(await refsOf(first, await newest(first))).toHaveLength(24);
});

test("a push to a repository that was removed, or removed and made anew, is refused as not found", async () => {
  await using storage = provenStorage(new MemoryObjectStore());
  const base = await create(storage);
  await storage.remove("a/b.git", neverAborted);
  await expect(push(storage, base, ["main 0 1"])).rejects.toMatchObject({ code: "repository_not_found" });
  await create(storage);
  await expect(push(storage, base, ["main 0 1"])).rejects.toMatchObject({ code: "repository_not_found" });
});

test("connectivity is asked again exactly where another base lost packs, and what is not connected is refused", async () => {
  await using dir = await tempDir();
  await using storage = provenStorage(new MemoryObjectStore());
  const base = await create(storage);
  const grown = (await push(storage, base, ["a 0 1"], { packs: [await localPack(dir.path, "one")] })).generation;
  const asked: number[] = [];
  const disconnected = async (on: Generation) => {
    asked.push(on.n);
    return ["refs/heads/bad"];
  };
  expect(ok(await push(storage, base, ["b 0 1"], { disconnected }))).toEqual(["ok"]);
  expect(asked).toEqual([]);
  const more = {
    ...grown,
    packs: [...grown.packs, ...grown.packs.map((pack) => ({ ...pack, pack: { ...pack.pack, name: "gone" } }))],
    digest: "x",
  };
  expect(await push(storage, more, ["bad 0 1", "c 0 1"], { disconnected })).toMatchObject({
    results: [{ status: "rejected", reason: "missing necessary objects" }, { status: "ok" }],
  });
  expect(asked).toEqual([3]);
});

test("an atomic push with one stale ref changes nothing", async () => {
  await using storage = provenStorage(new MemoryObjectStore());
  const base = (await push(storage, await create(storage), ["main 0 1"])).generation;
  const { results, generation } = await push(storage, base, ["main 2 3", "dev 0 1"], { atomic: true });
  expect(results).toMatchObject([{ status: "rejected" }, { status: "rejected", reason: "atomic push failure" }]);
  expect(generation.n).toBe(2);
});

test("all live repositories are listed, whatever their names and number", async () => {
  await using storage = provenStorage(new MemoryObjectStore());
  const paths = [
    "a+b c/100%/저장소",
    "x".repeat(300),
    "UPPER",
    "upper",
    "deleted",
    ...Array.from({ length: 1205 }, (_, i) => `many/r${i}`),
  ];
  for (const path of paths) await create(storage, path);
  await storage.remove("deleted", neverAborted);
  const found: string[] = [];
  for await (const path of storage.paths(neverAborted)) found.push(path);
  expect(found.sort()).toEqual(paths.filter((path) => path !== "deleted").sort());
});

test("nothing is written before the store is proven, or when it refuses; reads go on", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  storage.setHealth({ state: "read_only", message: "the store answers 501", code: "store_refuses_writes" });
  await expect(push(storage, base, ["main 0 1"])).rejects.toMatchObject({
    code: "store_refuses_writes",
    message: expect.stringContaining("501"),
  });
  await expect(create(storage, "c")).rejects.toMatchObject({ code: "store_refuses_writes" });
  await expect(storage.remove("a/b.git", neverAborted)).rejects.toMatchObject({ code: "store_refuses_writes" });
  expect(await newest(storage)).toEqual(base);
  storage.setHealth({ state: "unproven", message: "", code: "store_unavailable" });
  await expect(create(storage, "c")).rejects.toMatchObject({ code: "store_unavailable" });
});

test("a damaged newest record is corrupt, never skipped", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  const base = await create(storage);
  await push(storage, base, ["main 0 1"]);
  const key = "repos/p.a%2fb%2egit/g/1ffffffffffffd";
  store.objects.set(key, { bytes: Buffer.from("not a record"), lastModifiedMs: 0 });
  await using other = provenStorage(new MemoryObjectStore({}, store.objects));
  await expect(newest(other)).rejects.toMatchObject({ code: "corrupt", fields: { key } });
});

test("paths and HEADs that break the rules are refused before any request", async () => {
  const store = new MemoryObjectStore();
  await using storage = provenStorage(store);
  await expect(storage.newest("../a", neverAborted)).rejects.toMatchObject({ code: "invalid_path" });
  await expect(storage.create("a", { objectFormat: "sha1", head: "HEAD" }, neverAborted)).rejects.toMatchObject({
    code: "invalid_argument",
  });
  expect(store.requests).toEqual([]);
  expect(refUpdate("main 0 1").newOid).toBe(oid("1"));
});
