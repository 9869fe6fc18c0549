import { expect, test } from "vitest";
import { ProbeOrder } from "../../../src/gossip/probe-order.ts";

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `n${String(i).padStart(3, "0")}`);

test.each([2, 3, 4, 7, 16, 50, 101])(
  "with %i members each probes every other once per round, and each is probed by one other in each interval",
  (count) => {
    const names = namesOf(count);
    const orders = names.map((name) => new ProbeOrder(name));
    const seen = names.map(() => new Map<string, number>());
    for (let interval = 1000; interval < 1000 + 3 * (count - 1); interval++) {
      const targets = orders.map((order) => order.next(names, interval));
      expect(new Set(targets).size).toBe(count);
      targets.forEach((target, i) => {
        expect(target).not.toBe(names[i]);
        seen[i]?.set(target ?? "", (seen[i]?.get(target ?? "") ?? 0) + 1);
      });
    }
    for (const counts of seen) expect([...counts.values()]).toEqual(new Array(count - 1).fill(3));
  },
);

test("members that start in different intervals follow the same plan", () => {
  const names = namesOf(20);
  const orders = names.map((name) => new ProbeOrder(name));
  const startedAt = names.map((_, i) => (i * 7) % 19);
  for (let interval = 0; interval < 100; interval++) {
    const targets = orders.filter((_, i) => (startedAt[i] ?? 0) <= interval).map((order) => order.next(names, interval));
    expect(new Set(targets).size).toBe(targets.length);
  }
});

test("members that missed intervals are back in step as soon as someone comes or goes", () => {
  const before = namesOf(20);
  const after = before.filter((name) => name !== "n007");
  const orders = after.map((name) => new ProbeOrder(name));
  for (let interval = 0; interval < 30; interval++) {
    orders.forEach((order, i) => {
      if ((interval + i) % 5 !== 0) order.next(before, interval);
    });
  }
  const targets = orders.map((order) => order.next(after, 31));
  expect(new Set(targets)).toEqual(new Set(after));
});

test("who misses intervals still probes everyone once per round", () => {
  const names = namesOf(9);
  const order = new ProbeOrder("n004");
  const targets = Array.from({ length: 8 }, (_, i) => order.next(names, 100 + 2 * i));
  expect(new Set(targets).size).toBe(8);
});

test("neighbours by name are not probed one after the other", () => {
  const names = namesOf(50);
  const order = new ProbeOrder("n000");
  const indices = Array.from({ length: 49 }, () => Number(order.next(names, 0)?.slice(1)));
  for (let i = 1; i < indices.length; i++) expect(Math.abs((indices[i] ?? 0) - (indices[i - 1] ?? 0))).toBeGreaterThan(1);
});

test("a member that is alone, or knows only itself any more, probes nobody", () => {
  const order = new ProbeOrder("n000");
  expect(order.next([], 0)).toBeUndefined();
  expect(order.next(["n000"], 0)).toBeUndefined();
  expect(order.next(["n000", "n001"], 0)).toBe("n001");
  expect(order.next(["n000"], 1)).toBeUndefined();
});
