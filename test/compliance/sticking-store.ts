import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { type Position, parseLsn, unknownPosition } from "../../src/db/position/position.ts";
import type { StickingStore } from "../../src/db/sticking/sticking-store.ts";

/** A store under test, and a way to let time pass for what it holds. */
export interface OpenedStickingStore extends AsyncDisposable {
  readonly store: StickingStore;
  readonly expirationMs: number;
  pass(ms: number): Promise<void>;
}

const at = (lsn: string, timeline = 1, systemId = "7412345678901234567"): Position => ({ systemId, timeline, lsn: parseLsn(lsn) });

/** What every sticking store must do. `open` gives one that no other test uses; each test keeps to keys of its own. */
export function stickingStoreCompliance(name: string, open: () => Promise<OpenedStickingStore>): void {
  describe(`${name} as a sticking store`, () => {
    let opened: OpenedStickingStore;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => await opened?.[Symbol.asyncDispose]());
    const read = async (key: string) => (await opened.store.read([key], neverAborted))[0];
    const write = (key: string, position: Position) => opened.store.write([key], position, neverAborted);
    const release = (key: string, seen: Position) => opened.store.release(key, seen, neverAborted);

    test("knows nothing of a key that was never written, and answers in the keys' order", async () => {
      await write("order/2", at("0/2"));
      await opened.store.write(["order/3", "order/4"], at("16/B374D848"), neverAborted);
      expect(await opened.store.read(["order/4", "order/1", "order/2", "order/3"], neverAborted)).toEqual([
        at("16/B374D848"),
        undefined,
        at("0/2"),
        at("16/B374D848"),
      ]);
      expect(await opened.store.read([], neverAborted)).toEqual([]);
    });

    // Case 15, B118, B117
    test.each([
      ["0/5", "0/3"],
      ["1/0", "0/FFFFFFFF"],
      ["A/9", "9/FFFFFFFF"],
      ["0/10", "0/9"],
      ["FFFFFFFF/FFFFFFFF", "FFFFFFFF/FFFFFFFE"],
      ["20000001/0", "1FFFFFFF/FFFFFFFF"],
      // Report: gitlab 211511
      ["0/16B3DD0", "0/16B3DC0"],
    ])("keeps %s when %s is written after it, and the other way round", async (greater, lower) => {
      const key = `greater/${greater}`;
      await write(key, at(greater));
      await write(key, at(lower));
      expect(await read(key)).toEqual(at(greater));
      await write(`${key}/reverse`, at(lower));
      await write(`${key}/reverse`, at(greater));
      expect(await read(`${key}/reverse`)).toEqual(at(greater));
    });

    test("keeps the greatest of positions that are written at once", async () => {
      const lsns = Array.from({ length: 50 }, (_, i) => at(`0/${((i * 37) % 50).toString(16)}`));
      await Promise.all(lsns.map((position) => write("race/1", position)));
      expect(await read("race/1")).toEqual(at("0/31"));
    });

    test("keeps the later timeline's position, and the newest of another system (B119)", async () => {
      await write("timeline/1", at("0/500", 1));
      await write("timeline/1", at("0/400", 2));
      expect(await read("timeline/1")).toEqual(at("0/400", 2));
      await write("timeline/1", at("0/500", 1));
      expect(await read("timeline/1")).toEqual(at("0/400", 2));
      await write("timeline/1", at("0/1", 1, "1"));
      expect(await read("timeline/1")).toEqual(at("0/1", 1, "1"));
      await write("timeline/1", unknownPosition);
      expect(await read("timeline/1")).toEqual(unknownPosition);
    });

    // Case 16; report: gitlab 216379
    test("forgets a key only if it holds what was seen", async () => {
      await write("release/1", at("0/5"));
      await write("release/1", at("0/6"));
      await release("release/1", at("0/5"));
      expect(await read("release/1")).toEqual(at("0/6"));
      await release("release/1", at("0/6", 2));
      expect(await read("release/1")).toEqual(at("0/6"));
      await release("release/1", at("0/6"));
      expect(await read("release/1")).toBeUndefined();
      await release("release/1", at("0/6"));
    });

    // Case 15
    test("forgets a key when its time is over, and each write starts it anew, a lower one too", async () => {
      const { expirationMs, pass } = opened;
      await write("expiry/1", at("0/5"));
      await pass(expirationMs * 0.7);
      await write("expiry/1", at("0/3"));
      await pass(expirationMs * 0.7);
      expect(await read("expiry/1")).toEqual(at("0/5"));
      await pass(expirationMs * 0.4);
      expect(await read("expiry/1")).toBeUndefined();
      await write("expiry/1", at("0/1"));
      expect(await read("expiry/1")).toEqual(at("0/1"));
    });
  });
}
