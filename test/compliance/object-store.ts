import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { ListRequest, ObjectStore } from "../../src/storage/index.ts";
import { tempDir } from "../support/temp-dir.ts";

/** What every object store must do. `open` gives a store that no other test uses; each test keeps to keys of its own. */
export function objectStoreCompliance(name: string, open: () => Promise<{ readonly store: ObjectStore } & AsyncDisposable>): void {
  describe(`${name} as an object store`, () => {
    let opened: { readonly store: ObjectStore } & AsyncDisposable;
    let store: ObjectStore;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    }, 60_000);
    afterAll(async () => await opened?.[Symbol.asyncDispose]());
    const text = async (key: string) => {
      const bytes = await store.get(key, 1 << 20, neverAborted);
      return bytes === undefined ? undefined : Buffer.from(bytes).toString();
    };
    const put = (key: string, body: string) => store.put(key, Buffer.from(body), neverAborted);
    const create = async (key: string, body: string) => (await store.createIfAbsent(key, Buffer.from(body), neverAborted)).outcome;
    const listAll = async (request: ListRequest) => {
      const keys: string[] = [];
      const prefixes: string[] = [];
      let pages = 0;
      for (let startAfter = request.startAfter; ; pages++) {
        const page = await store.list({ ...request, ...(startAfter === undefined ? {} : { startAfter }) }, neverAborted);
        keys.push(...page.objects.map(({ key }) => key));
        prefixes.push(...page.prefixes);
        if (page.next === undefined) return { keys, prefixes, pages: pages + 1 };
        startAfter = page.next;
      }
    };

    test("a key that was never written is absent", async () => {
      expect(await text("absent/key")).toBeUndefined();
      expect(await store.open("absent/key", neverAborted)).toBeUndefined();
    });

    test("a read sees the last write at once, and a removal", async () => {
      await put("rw/a", "one");
      expect(await text("rw/a")).toBe("one");
      await put("rw/a", "two");
      expect(await text("rw/a")).toBe("two");
      await store.delete("rw/a", neverAborted);
      expect(await text("rw/a")).toBeUndefined();
      await store.delete("rw/a", neverAborted);
    });

    test("an empty object is not an absent one", async () => {
      await put("empty/a", "");
      expect(await text("empty/a")).toBe("");
      expect((await store.list({ prefix: "empty/" }, neverAborted)).objects).toMatchObject([{ key: "empty/a", sizeBytes: 0 }]);
    });

    test("a create-only write happens once and never overwrites", async () => {
      expect(await create("create/a", "first")).toBe("created");
      expect(await create("create/a", "second")).toBe("occupied");
      expect(await create("create/a", "first")).toBe("occupied");
      expect(await text("create/a")).toBe("first");
    });

    test("of many concurrent create-only writes one wins, and its bytes stand", async () => {
      for (let round = 0; round < 5; round++) {
        const outcomes = await Promise.all(Array.from({ length: 16 }, (_, i) => create(`race/${round}`, `writer ${i}`)));
        const winners = outcomes.flatMap((outcome, i) => (outcome === "created" ? [`writer ${i}`] : []));
        expect(winners).toHaveLength(1);
        expect(await text(`race/${round}`)).toBe(winners[0]);
      }
    });

    test("a file is stored byte for byte and read back as a stream", async () => {
      await using dir = await tempDir();
      const content = randomBytes(3_000_001);
      await writeFile(join(dir.path, "pack"), content);
      await store.put("files/pack", { file: join(dir.path, "pack"), sizeBytes: content.length }, neverAborted);
      await using stream = await store.open("files/pack", neverAborted);
      expect(stream?.sizeBytes).toBe(content.length);
      const chunks: Uint8Array[] = [];
      for await (const chunk of stream?.body ?? []) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(content)).toBe(true);
    });

    test("a get refuses what is larger than the caller allows", async () => {
      await put("cap/a", "12345");
      await expect(store.get("cap/a", 4, neverAborted)).rejects.toMatchObject({ code: "limit_exceeded" });
      expect(await store.get("cap/a", 5, neverAborted)).toHaveLength(5);
    });

    test("keys are listed in byte order, whatever directories would say", async () => {
      const keys = ["order/0", "order/A", "order/a%2fb", "order/a-b", "order/a.b", "order/a/b", "order/a0", "order/a_", "order/b"];
      for (const key of [...keys].reverse()) await put(key, key);
      expect((await listAll({ prefix: "order/" })).keys).toEqual(keys);
      expect((await listAll({ prefix: "order/", maxKeys: 2 })).keys).toEqual(keys);
      expect((await listAll({ prefix: "order/a" })).keys).toEqual(keys.slice(2, 8));
      expect((await listAll({ prefix: "order/", startAfter: "order/a-b" })).keys).toEqual(keys.slice(4));
      expect((await listAll({ prefix: "order/", startAfter: "order/a-" })).keys).toEqual(keys.slice(3));
      expect((await listAll({ prefix: "none/" })).keys).toEqual([]);
    });

    test("slots are listed newest first, one by one and all of them", async () => {
      const slot = (n: number) => `slots/g/${(Number.MAX_SAFE_INTEGER - n).toString(16).padStart(14, "0")}`;
      const count = 600;
      for (let from = 1; from <= count; from += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, i) => store.createIfAbsent(slot(from + i), Buffer.from("x"), neverAborted)));
      }
      const newest = await store.list({ prefix: "slots/g/", maxKeys: 1 }, neverAborted);
      expect(newest.objects.map(({ key }) => key)).toEqual([slot(count)]);
      const expected = Array.from({ length: count }, (_, i) => slot(count - i));
      expect(await listAll({ prefix: "slots/g/", maxKeys: 250 })).toEqual({ keys: expected, prefixes: [], pages: 3 });
      expect((await listAll({ prefix: "slots/g/", startAfter: slot(257) })).keys).toEqual(expected.slice(-256));
    });

    test("a delimiter folds what lies deeper, page by page", async () => {
      for (const key of ["fold/p.a/g/1", "fold/p.a/g/2", "fold/p.a%2fb/g/1", "fold/p.b/g/1", "fold/x"]) await put(key, "x");
      for (const maxKeys of [1, 2, 1000]) {
        const { keys, prefixes } = await listAll({ prefix: "fold/", delimiter: "/", maxKeys });
        expect(prefixes).toEqual(["fold/p.a%2fb/", "fold/p.a/", "fold/p.b/"]);
        expect(keys).toEqual(["fold/x"]);
      }
      expect((await listAll({ prefix: "fold/p.a", delimiter: "/" })).prefixes).toEqual(["fold/p.a%2fb/", "fold/p.a/"]);
    });

    test("a prefix whose last object is removed is not listed any more", async () => {
      await put("gone/a/b/c", "x");
      await store.delete("gone/a/b/c", neverAborted);
      expect(await listAll({ prefix: "gone/", delimiter: "/" })).toMatchObject({ keys: [], prefixes: [] });
      await put("gone/a/b/c", "again");
      expect(await text("gone/a/b/c")).toBe("again");
    });

    test("keys that could leave the store are refused", async () => {
      for (const key of ["", "/a", "a/", "a//b", "../a", "a/../b", ".", "a/.b", "a b", "ä", "a\0b", "a\\b", `a/${"x".repeat(256)}`]) {
        await expect(store.get(key, 1, neverAborted)).rejects.toMatchObject({ code: "invalid_argument" });
        await expect(store.put(key, Buffer.from("x"), neverAborted)).rejects.toMatchObject({ code: "invalid_argument" });
      }
    });

    test("a call whose signal has aborted does nothing", async () => {
      const signal = AbortSignal.abort(new Error("gone"));
      await expect(store.get("abort/a", 1, signal)).rejects.toThrow("gone");
      await expect(store.put("abort/a", Buffer.from("x"), signal)).rejects.toThrow("gone");
      await expect(store.createIfAbsent("abort/a", Buffer.from("x"), signal)).rejects.toThrow("gone");
      await expect(store.list({ prefix: "" }, signal)).rejects.toThrow("gone");
      await expect(store.delete("abort/a", signal)).rejects.toThrow("gone");
      expect(await text("abort/a")).toBeUndefined();
    });
  });
}
