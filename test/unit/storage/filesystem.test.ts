import { spawnSync } from "node:child_process";
import { type FileHandle, mkdir, open, readdir, readFile, readlink, rename, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../../src/base/index.ts";
import { openFilesystemStore } from "../../../src/storage/filesystem.ts";
import { fileOfKey } from "../../../src/storage/filesystem-layout.ts";
import { readOrCreateClusterId } from "../../../src/storage/index.ts";
import { slotKey } from "../../../src/storage/keys.ts";
import { tempDir } from "../../support/temp-dir.ts";

const deps = { clock: systemClock, random: systemRandom };

test("slots are fanned out, so that no directory grows with the number of generations", () => {
  const perDir = new Map<string, Set<string>>();
  for (let n = 1; n <= 100_000; n++) {
    const parts = fileOfKey("/store", slotKey("p.a", n)).split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const dir = parts.slice(0, depth).join("/");
      const names = perDir.get(dir) ?? new Set();
      perDir.set(dir, names.add(parts[depth] as string));
    }
  }
  expect(Math.max(...[...perDir.values()].map((names) => names.size))).toBe(256);
});

test("a directory that cannot be made is an error at once", async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, "file"), "");
  // The kernel's own file systems say that a new directory's parent is missing, which it is not.
  for (const directory of [join(dir.path, "file"), join(dir.path, "file", "below"), "/proc/none", "/proc/none/below"]) {
    await expect(openFilesystemStore({ directory }, deps)).rejects.toMatchObject({
      code: "store_unavailable",
      message: "the object store's directory cannot be used",
    });
  }
});

test("names beside fanned-out slots are listed in byte order with them", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  const keys = ["g/1fffffffff", "g/1fffffffff0", "g/1fffffffff0000", "g/1fffffffff00000", "g/1fffffffffff/x", "g/1fffffffffff00", "g/2"];
  for (const key of [...keys].reverse()) await store.put(key, Buffer.from(key), neverAborted);
  for (const maxKeys of [1, 3, 1000]) {
    const listed: string[] = [];
    for (let startAfter: string | undefined = ""; startAfter !== undefined; ) {
      const page = await store.list({ prefix: "g/", maxKeys, startAfter }, neverAborted);
      listed.push(...page.objects.map(({ key }) => key));
      startAfter = page.next;
    }
    expect(listed).toEqual([...keys].sort());
  }
});

test("a write leaves no temporary file, and stale ones of dead processes are swept at open", async () => {
  await using dir = await tempDir();
  const temp = join(dir.path, ".tmp");
  await mkdir(temp);
  await writeFile(join(temp, "1.stale"), "x");
  await writeFile(join(temp, "2.fresh"), "x");
  await utimes(join(temp, "1.stale"), 1, 1);
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  await store.put("a/b", Buffer.from("x"), neverAborted);
  await store.createIfAbsent("a/b", Buffer.from("y"), neverAborted);
  await store.createIfAbsent("a/c", Buffer.from("y"), neverAborted);
  expect(await readdir(temp)).toEqual(["2.fresh"]);
  expect((await store.list({ prefix: "" }, neverAborted)).objects.map(({ key }) => key)).toEqual(["a/b", "a/c"]);
});

test("the store's directory is private", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: join(dir.path, "deep/objects") }, deps);
  await store.put("a/b", Buffer.from("x"), neverAborted);
  expect((await stat(join(dir.path, "deep/objects"))).mode & 0o077).toBe(0);
  expect((await stat(join(dir.path, "deep/objects/a"))).mode & 0o077).toBe(0);
});

test("a directory that was exchanged (a disk that is not mounted) is unavailable, not empty", async () => {
  await using dir = await tempDir();
  const path = join(dir.path, "objects");
  await using store = await openFilesystemStore({ directory: path }, deps);
  await store.put("a/b", Buffer.from("x"), neverAborted);
  await rename(path, `${path}-away`);
  await expect(store.get("a/b", 10, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  await mkdir(join(path, ".tmp"), { recursive: true });
  await expect(store.get("a/b", 10, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  await expect(store.list({ prefix: "" }, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  await expect(store.createIfAbsent("a/c", Buffer.from("x"), neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
});

test("an error names no local path", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  await store.put("a", Buffer.from("x"), neverAborted);
  const error: Error & { fields?: unknown } = await store.put("a/b", Buffer.from("x"), neverAborted).then(
    () => new Error("stored"),
    (thrown: Error) => thrown,
  );
  expect(error).toMatchObject({ code: "invalid_argument" });
  expect(JSON.stringify([error.message, error.fields, String(error.cause)])).not.toContain(dir.path);
});

test("a half-read stream that is closed, or whose signal aborts, holds nothing", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  await store.put("a", Buffer.alloc(2_000_000), neverAborted);
  const closed = await store.open("a", neverAborted);
  for await (const _ of closed?.body ?? []) break;
  await closed?.[Symbol.asyncDispose]();
  const aborted = new AbortController();
  await using stream = await store.open("a", aborted.signal);
  aborted.abort(new Error("gone"));
  await expect(stream?.body[Symbol.asyncIterator]().next()).rejects.toThrow("gone");
  const open = await readdir("/proc/self/fd").catch(() => []);
  for (const fd of open) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    expect(target.startsWith(join(dir.path, "a"))).toBe(false);
  }
});

test("the cluster id is chosen once and lies readable in the directory", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  const ids = await Promise.all(Array.from({ length: 8 }, () => readOrCreateClusterId(store, systemRandom, neverAborted)));
  expect(new Set(ids).size).toBe(1);
  expect((await readFile(join(dir.path, "cluster-id"), "latin1")).trim()).toBe(ids[0]);
  expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
  await store.put("cluster-id", Buffer.from("nonsense"), neverAborted);
  await expect(readOrCreateClusterId(store, systemRandom, neverAborted)).rejects.toMatchObject({ code: "corrupt" });
});

test("a write that fails leaves neither an object nor a temporary file", async () => {
  await using dir = await tempDir();
  await using store = await openFilesystemStore({ directory: dir.path }, deps);
  const missing = { file: join(dir.path, "no-such-file"), sizeBytes: 5 };
  await expect(store.put("a/b", missing, neverAborted)).rejects.toMatchObject({ code: "store_unavailable" });
  await writeFile(join(dir.path, "source"), "four");
  const changed = { file: join(dir.path, "source"), sizeBytes: 5 };
  await expect(store.put("a/b", changed, neverAborted)).rejects.toMatchObject({ code: "internal" });
  expect(await readdir(join(dir.path, ".tmp"))).toEqual([]);
  expect(await store.get("a/b", 10, neverAborted)).toBeUndefined();
});

/** Runs `work` and answers which of `paths` were fsynced meanwhile. */
async function syncedOf(paths: readonly string[], work: () => Promise<unknown>): Promise<string[]> {
  const handle = await open(dirname(paths[0] as string), "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  const inodes = new Set<number>();
  prototype.sync = async function (this: FileHandle) {
    inodes.add((await this.stat()).ino);
    await sync.call(this);
  };
  try {
    await work();
  } finally {
    prototype.sync = sync;
  }
  const found = await Promise.all(paths.map(async (path) => ({ path, ino: (await stat(path)).ino })));
  return found.filter(({ ino }) => inodes.has(ino)).map(({ path }) => path);
}

test("the names of new directories are durable: the store's own, fanned-out ones, and those that someone removed and made again", async () => {
  await using dir = await tempDir();
  const root = join(dir.path, "deep/objects");
  const chain = (top: string, bottom: string): string[] => (bottom === top ? [top] : [...chain(top, dirname(bottom)), bottom]);
  const opening = await syncedOf([dir.path], () => openFilesystemStore({ directory: root }, deps));
  expect(opening).toEqual([dir.path]);
  await using store = await openFilesystemStore({ directory: root }, deps);
  await using other = await openFilesystemStore({ directory: root }, deps);
  const slot = chain(root, dirname(fileOfKey(root, slotKey("p.a", 1))));
  const createSlot = (by: typeof store, n = 1) => by.createIfAbsent(slotKey("p.a", n), Buffer.from("x"), neverAborted);
  expect(await syncedOf(slot, () => createSlot(store))).toEqual(slot);
  // Whoever is told "occupied" builds on it, although its writer may have been killed before it synced anything.
  expect(await syncedOf(slot, () => createSlot(other))).toEqual(slot);
  expect(await syncedOf(slot, () => createSlot(other, 2))).toEqual(slot.slice(-1));

  const pool = chain(root, join(root, "pools/a/p"));
  const put = () => store.put("pools/a/p/x", Buffer.from("x"), neverAborted);
  await put();
  await other.delete("pools/a/p/x", neverAborted);
  await mkdir(join(root, "pools/a/p"), { recursive: true });
  expect(await syncedOf(pool, put)).toEqual(pool);
});

test("a read-only file, as git's packs are, is stored by any user", async () => {
  await using dir = await tempDir();
  const text =
    "import { openFilesystemStore } from './src/storage/filesystem.ts'; import { neverAborted, systemClock as clock, systemRandom as random } from './src/base/index.ts';";
  const [source, directory] = [join(dir.path, "source"), join(dir.path, "objects")];
  await writeFile(source, "pack", { mode: 0o444 });
  const call = `const store = await openFilesystemStore({ directory: ${JSON.stringify(directory)} }, { clock, random });
    await store.put("a/b", { file: ${JSON.stringify(source)}, sizeBytes: 4 }, neverAborted);`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "--eval", `${text}\n${call}`];
  // Root may write what is read-only, unless it lacks the capability for that.
  const drop = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"];
  const mayDrop = process.getuid?.() === 0 && spawnSync(drop[0] as string, ["--version"]).status === 0;
  const [program = "", ...args] = [...(mayDrop ? drop : []), ...node];
  const { status, stderr } = spawnSync(program, args, { cwd: new URL("../../..", import.meta.url), encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(await readFile(join(directory, "a/b"), "utf8")).toBe("pack");
});
