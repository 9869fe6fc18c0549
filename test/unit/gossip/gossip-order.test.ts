import { expect, test } from "vitest";
import { GossipOrder } from "../../../src/gossip/gossip-order.ts";

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `n${String(i).padStart(4, "0")}`);

/** Rounds until everyone knows what `n0000` knows, if each tells `transmissions` times from the moment that it knows. */
function spread(count: number, transmissions: number, alreadyTold: (i: number) => number): { informed: number; rounds: number } {
  const names = namesOf(count);
  const orders = names.map((name) => new GossipOrder(name));
  orders.forEach((order, i) => void order.next(names, transmissions, alreadyTold(i)));
  const told = new Map<string, number>([["n0000", 0]]);
  let rounds = 0;
  for (; rounds < 20 && told.size < count; rounds++) {
    for (const [name, times] of [...told]) {
      if (times >= transmissions) continue;
      const targets = orders[names.indexOf(name)]?.next(names, transmissions, Math.min(3, transmissions - times)) ?? [];
      told.set(name, times + targets.length);
      for (const target of targets) if (!told.has(target)) told.set(target, 0);
    }
  }
  return { informed: told.size, rounds };
}

test.each([
  [2, 4],
  [5, 4],
  [9, 8],
  [10, 8],
  [33, 8],
  [50, 8],
  [99, 8],
  [100, 12],
  [1000, 16],
])("news reaches each of %i members although each tells it only %i times, wherever in its order each is", (count, transmissions) => {
  for (let seed = 0; seed < 20; seed++) {
    const { informed, rounds } = spread(count, transmissions, (i) => (i * 7 + seed * 13) % 11);
    expect(informed).toBe(count);
    expect(rounds).toBeLessThanOrEqual(Math.ceil(Math.log2(count)) + 1);
  }
});

test("nobody is told twice in a round, nor itself, and among few members each tells all others in turn", () => {
  const names = namesOf(6);
  const order = new GossipOrder("n0002");
  const rounds = [0, 1, 2, 3, 4].map(() => order.next(names, 8, 3));
  for (const targets of rounds) expect(new Set(targets).size).toBe(3);
  const counts = new Map<string, number>();
  for (const name of rounds.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  expect(counts).toEqual(new Map(names.filter((name) => name !== "n0002").map((name) => [name, 3])));
});

test("who is alone tells nobody, and newcomers are told from then on", () => {
  const order = new GossipOrder("n0000");
  expect(order.next(["n0000"], 4, 3)).toEqual([]);
  expect(order.next(namesOf(2), 4, 3)).toEqual(["n0001"]);
});
