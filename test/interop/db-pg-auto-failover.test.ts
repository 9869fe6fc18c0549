import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LoadBalancer } from "../../src/db/index.ts";
import { openClients, readOutageLimitMs, runThrough, writeOutageLimitMs } from "../support/failover-run.ts";
import type { ManagedNode } from "../support/managed-node.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { type AutoFailover, autoFailoverMissing, startAutoFailover } from "../support/pg-auto-failover.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-pg-auto-failover", autoFailoverMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("clients of two servers that pg_auto_failover looks after, found through its monitor", () => {
  let peer: AutoFailover;
  let clients: readonly LoadBalancer[] & AsyncDisposable;
  beforeAll(async () => {
    peer = await startAutoFailover();
    clients = await openClients(peer.nodes[0] as ManagedNode, { source: "pg_auto_failover", monitorUrl: peer.monitorUrl });
  });
  afterAll(async () => {
    await clients?.[Symbol.asyncDispose]();
    await peer?.[Symbol.asyncDispose]();
  });

  const primary = async () => {
    const states = await peer.states();
    return peer.nodes.find(({ name }) => states[name] === "primary/primary") as ManagedNode;
  };
  /** Runs clients through a fault, and judges what they lived through. */
  const judge = async (title: string, fault: (node: ManagedNode) => void | Promise<void>, over: () => Promise<void>) => {
    const node = await primary();
    const report = await runThrough(`pg_auto_failover, ${title}`, clients, peer, () => fault(node), over);
    expect(report.broken).toEqual([]);
    expect(report.readOutageMs).toBeLessThan(readOutageLimitMs);
    expect(report.writeOutageMs).toBeLessThan(writeOutageLimitMs(report));
    return node;
  };

  test("keep their promises through a planned failover", async () => {
    const before = await judge(
      "planned",
      () => peer.performFailover(),
      () => peer.settled(),
    );
    expect(await primary()).not.toBe(before);
  });

  test("keep their promises when the primary is killed", async () => {
    await judge(
      "kill -9",
      (node) => node.killServer(),
      () => peer.settled(),
    );
  });

  test("keep their promises when the primary's machine is lost, and find it again", async () => {
    const others = async () => Object.values(await peer.states());
    const lost = await judge(
      "node lost",
      (node) => node.kill(),
      () => until("the other one is written to", async () => (await others()).includes("wait_primary/wait_primary"), 60_000),
    );
    lost.start();
    await peer.settled();
    const host = `127.0.0.1:${lost.port}`;
    await until("it serves reads", () =>
      clients.every((lb) => lb.status.some((one) => one.host === host && one.role === "replica" && one.usable)),
    );
  });
});
