import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { Artifact } from "../../../src/storage/index.ts";
import { type MemoryFault, MemoryObjectStore } from "../../support/memory-object-store.ts";
import { localPack, provenStorage, push } from "../../support/scratch-storage.ts";
import { tempDir } from "../../support/temp-dir.ts";

async function setUp() {
  const dir = await tempDir();
  const faults: MemoryFault[] = [];
  const store = new MemoryObjectStore({ intercept: (op) => (op === "open" ? faults.shift() : undefined) });
  const clock = { now: () => 0, monotonic: () => 0, sleep: async () => {}, timer: () => ({ [Symbol.dispose]: () => {} }) };
  const storage = provenStorage(store, {}, { clock });
  const base = await storage.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const pack = await localPack(dir.path, "one");
  const { generation } = await push(storage, base, ["main 0 1"], { packs: [pack] });
  const artifact = generation.packs[0]?.pack as Artifact;
  const target = join(dir.path, "fetched");
  const fetch = (signal = neverAborted) => storage.fetchArtifact(generation, artifact, target, signal);
  const done = { [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
  return { dir: dir.path, faults, store, artifact, target, fetch, pack, key: `pools/${base.poolId}/p/${artifact.name}`, done };
}

test("an artifact arrives as it was pushed", async () => {
  const { target, fetch, pack, done } = await setUp();
  await using _ = done;
  await fetch();
  expect(await readFile(target)).toEqual(await readFile(pack.packFile));
});

// B141: bodies that end early without an error.
test("short and damaged bodies are fetched again", async () => {
  const { faults, target, fetch, pack, done } = await setUp();
  await using _ = done;
  faults.push("short", "flipped", "short");
  await fetch();
  expect(await readFile(target)).toEqual(await readFile(pack.packFile));
});

test.each(["short", "flipped"] as const)("a body that stays %s is corrupt, and no file stays", async (fault) => {
  const { dir, faults, fetch, done } = await setUp();
  await using _ = done;
  faults.push(fault, fault, fault, fault, fault);
  await expect(fetch()).rejects.toMatchObject({ code: "corrupt" });
  expect(await readdir(dir)).not.toContain("fetched");
});

test("an artifact that the store does not have is missing, and no file stays", async () => {
  const { dir, store, fetch, key, done } = await setUp();
  await using _ = done;
  store.objects.delete(key);
  await expect(fetch()).rejects.toMatchObject({ code: "artifact_missing" });
  expect(await readdir(dir)).not.toContain("fetched");
});

test("a store that stays away is unavailable without multiplying its own attempts, and no file stays", async () => {
  const { dir, store, faults, fetch, done } = await setUp();
  await using _ = done;
  faults.push("dropped", "dropped", "dropped", "dropped");
  await expect(fetch()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(store.requests.filter(({ op }) => op === "open")).toHaveLength(1);
  expect(await readdir(dir)).not.toContain("fetched");
});

test("a fetch that is given up leaves no file, and a file that was there is not touched", async () => {
  const { dir, target, fetch, done } = await setUp();
  await using _ = done;
  await expect(fetch(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  expect(await readdir(dir)).not.toContain("fetched");
  await writeFile(target, "mine");
  await expect(fetch()).rejects.toMatchObject({ code: "internal" });
  expect(await readFile(target, "utf8")).toBe("mine");
});
