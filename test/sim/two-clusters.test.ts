import { expect, test } from "vitest";
import { SimCluster, type SimNode } from "./sim-cluster.ts";

/** Two clusters without label, key or id; a member of the first is killed, and one of the second starts at its address `afterMs` later. */
async function inTwoClusters(
  seed: number,
  afterMs: number,
  body: (cluster: SimCluster, first: SimNode[], second: SimNode[]) => Promise<void>,
) {
  const cluster = new SimCluster(seed);
  try {
    const start = async (prefix: string, ...indices: number[]) => {
      const nodes: SimNode[] = [];
      for (const index of indices) {
        const node = await cluster.start(index, { name: `${prefix}${index}` });
        nodes.push(node);
        if (nodes[0] && nodes[0] !== node) await cluster.join(node, nodes[0]);
      }
      return nodes;
    };
    const first = await start("a", 1, 2, 3, 4);
    const second = await start("b", 11, 12, 13);
    await cluster.runUntil("both are formed", () => cluster.isConverged(first) && cluster.isConverged(second), 30_000);
    await cluster.runUntil("nothing is told any more", () => cluster.isQuiet(), 30_000);
    await cluster.crash(first.pop() as SimNode);
    await cluster.run(afterMs);
    const heir = await cluster.start(4, { name: "b4" });
    await cluster.join(heir, second[0] as SimNode);
    second.push(heir);
    await body(cluster, first, second);
  } finally {
    await cluster.stop();
  }
}

test.each([5000, 12_000, 60_000])(
  "a member of another cluster at the address of one that was lost for %i ms does not make the two one",
  (afterMs) =>
    inTwoClusters(90 + afterMs, afterMs, async (cluster, first, second) => {
      for (let i = 0; i < 30; i++) {
        // There is news to tell while the lost member is still told of it.
        for (const node of first) cluster.setMeta(node, Uint8Array.of(i));
        await cluster.run(3000 + i * 1000);
      }
      expect([cluster.isConverged(first), cluster.isConverged(second)]).toEqual([true, true]);
      const strangers = [...first, ...second].flatMap(({ name, member }) =>
        member.members().filter((record) => record.name[0] !== name[0]),
      );
      expect(strangers).toEqual([]);
    }),
);

test("who finds another cluster where a member was lost says so", () =>
  inTwoClusters(91, 60_000, async (cluster, first) => {
    await cluster.run(120_000);
    const warnings = first.flatMap((node) => node.warnings.map(({ message }) => message));
    expect(warnings).toContain("at the address of a lost member there is one that knows none of this cluster");
  }));
