import { expect, test } from "vitest";
import { ProbeOrder } from "../../../src/gossip/probe-order.ts";
import { simRandom } from "../../support/sim-random.ts";

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `n${String(i).padStart(3, "0")}`);
const everyone = () => true;

test.each([2, 3, 4, 7, 16, 50, 101])(
  "with %i members each probes every other once per round, and each is probed by one other at each moment",
  (count) => {
    const names = namesOf(count);
    const orders = names.map((name) => new ProbeOrder(name, simRandom(1)));
    const seen = names.map(() => new Map<string, number>());
    for (let round = 1000; round < 1000 + 3 * (count - 1); round++) {
      const targets = orders.map((order) => order.next(everyone, () => ({ names, round })));
      expect(new Set(targets).size).toBe(count);
      targets.forEach((target, i) => {
        expect(target).not.toBe(names[i]);
        seen[i]?.set(target ?? "", (seen[i]?.get(target ?? "") ?? 0) + 1);
      });
    }
    for (const counts of seen) expect([...counts.values()]).toEqual(new Array(count - 1).fill(3));
  },
);

test("members that start at different moments follow the same plan", () => {
  const names = namesOf(20);
  const orders = names.map((name) => new ProbeOrder(name, simRandom(1)));
  const startedAt = names.map((_, i) => (i * 7) % 19);
  for (let round = 0; round < 100; round++) {
    const targets = orders.filter((_, i) => (startedAt[i] ?? 0) <= round).map((order) => order.next(everyone, () => ({ names, round })));
    expect(new Set(targets).size).toBe(targets.length);
  }
});

test("neighbours by name are not probed one after the other", () => {
  const names = namesOf(50);
  const order = new ProbeOrder("n000", simRandom(1));
  const indices = Array.from({ length: 49 }, () => Number(order.next(everyone, () => ({ names, round: 0 }))?.slice(1)));
  for (let i = 1; i < indices.length; i++) expect(Math.abs((indices[i] ?? 0) - (indices[i - 1] ?? 0))).toBeGreaterThan(1);
});

test("a newcomer is probed within the running round; who is gone leaves the turn to another", () => {
  const names = namesOf(10);
  const order = new ProbeOrder("n000", simRandom(2));
  const gone = new Set<string>();
  const next = () =>
    order.next(
      (name) => !gone.has(name),
      () => ({ names: names.filter((name) => !gone.has(name)), round: 0 }),
    );
  next();
  order.add("new");
  const rest = Array.from({ length: 9 }, next);
  expect(rest).toContain("new");
  gone.add("n003").add("n004");
  const after = Array.from({ length: 9 }, next);
  expect(new Set(after)).toEqual(new Set(names.slice(1).filter((name) => !gone.has(name))));
  for (const name of names) gone.add(name);
  gone.add("new");
  expect(next()).toBeUndefined();
});
