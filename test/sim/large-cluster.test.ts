import { afterAll, beforeAll, expect, test } from "vitest";
import { formCluster } from "./form-cluster.ts";
import { SimCluster } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";

const size = 500;
const cluster = new SimCluster(59, { records: false });
let nodes: SimNode[];

beforeAll(async () => {
  nodes = await formCluster(cluster, size);
});

afterAll(() => cluster.stop());

const bytesOut = () => nodes.reduce((sum, { member }) => sum + (cluster.network.transport(member.address)?.packetBytesOut ?? 0), 0);

/** Bytes of datagrams that all members send in `ms`. */
async function sentIn(ms: number): Promise<number> {
  const before = bytesOut();
  await cluster.run(ms);
  return bytesOut() - before;
}

// B59
test("in a cluster of 500 one change is repeated a bounded number of times, and what a member sends does not grow with the cluster", async () => {
  const quietBytes = await sentIn(60_000);
  // A probe a second, asked and answered: the same as in a cluster of three.
  expect(quietBytes / size / 60).toBeLessThan(150);
  const [changed] = nodes as [SimNode];
  cluster.setMeta(changed, Uint8Array.of(1, 2, 3));
  const busyBytes = await sentIn(60_000);
  expect(cluster.isConverged()).toBe(true);
  // Each member tells it 4 times the decimal logarithm of 500, rounded up: 12 times, each in at most 150 bytes more.
  expect(busyBytes - quietBytes).toBeLessThan(size * 12 * 150);
  expect(busyBytes / size / 60).toBeLessThan(180);
});

test("in a cluster of 500 a leave completes and every member sees it as a leave", async () => {
  const leaver = nodes[250] as SimNode;
  const startMs = cluster.clock.monotonic();
  await cluster.leave(leaver);
  expect(cluster.clock.monotonic() - startMs).toBeLessThan(10_000);
  await cluster.runUntil("all see it", () => cluster.isConverged(), 10_000);
  const states = nodes.map(({ member }) => member.members().find(({ name }) => name === leaver.name)?.state);
  expect(new Set(states)).toEqual(new Set(["left"]));
});
