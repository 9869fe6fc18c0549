import { expect, test } from "vitest";
import { gossipPort, SimCluster, type SimNode } from "./sim-cluster.ts";

const stateAt = (node: SimNode, name: string) => node.member.members().find((record) => record.name === name)?.state;

async function crashed(
  options: { crashProof?: boolean },
  body: (cluster: SimCluster, others: SimNode[], startMs: number) => Promise<void>,
) {
  const cluster = new SimCluster(70);
  try {
    const nodes = await cluster.startJoined(8, options);
    await cluster.runUntil("all see all", () => cluster.isConverged(), 30_000);
    await cluster.run(10_000);
    const startMs = cluster.clock.monotonic();
    const last = nodes.pop() as SimNode;
    await cluster.crash(last);
    await body(cluster, nodes, startMs);
  } finally {
    await cluster.stop();
  }
}

test("a crash that closes the port is known everywhere within 3 s, and everyone hears the reason from one member", () =>
  crashed({}, async (cluster, others) => {
    await cluster.runUntil("the crash is known", () => others.every((node) => stateAt(node, "n8") === "dead"), 3000);
    const failures = others.flatMap(({ events }) => events.filter(({ type }) => type === "failed"));
    const reasons = failures.map((event) => (event.type === "failed" ? event.reason : ""));
    expect(reasons.filter((reason) => reason === "refused").length).toBeGreaterThanOrEqual(1);
    expect(new Set(reasons).size).toBe(2);
  }));

test("with the proof switched off a crash takes the time of suspicion", () =>
  crashed({ crashProof: false }, async (cluster, others, startMs) => {
    await cluster.runUntil("the crash is known", () => others.some((node) => stateAt(node, "n8") === "dead"), 30_000);
    expect(cluster.clock.monotonic() - startMs).toBeGreaterThan(4000);
    const failed = others.flatMap(({ events }) => events.filter(({ type }) => type === "failed"));
    expect(failed.map((event) => (event.type === "failed" ? event.reason : ""))).not.toContain("refused");
  }));

test("a member that gossip passed over is found by the first of the two that probes the other", async () => {
  const cluster = new SimCluster(71);
  try {
    const [n1, n2] = (await cluster.startJoined(2)) as [SimNode, SimNode];
    await cluster.run(5000);
    // n3 joins through n1 while nothing gets to n2, until the news is not sent any more.
    cluster.network.pause(n2.host);
    const n3 = await cluster.start(3);
    await cluster.join(n3, n1);
    await cluster.run(300);
    cluster.network.forget(n2.host);
    expect(stateAt(n2, "n3")).toBeUndefined();
    await cluster.runUntil("n2 knows n3", () => stateAt(n2, "n3") === "alive", 5000);
    expect(n3.member.address.port).toBe(gossipPort);
  } finally {
    await cluster.stop();
  }
});
