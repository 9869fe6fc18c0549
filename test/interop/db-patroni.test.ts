import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LoadBalancer } from "../../src/db/index.ts";
import { openClients, readOutageLimitMs, runThrough, writeOutageLimitMs } from "../support/failover-run.ts";
import { failureOf } from "../support/failure-of.ts";
import type { ManagedNode } from "../support/managed-node.ts";
import { type PatroniCluster, patroniMissing, startPatroni } from "../support/patroni.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-patroni", patroniMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("clients of two servers that Patroni looks after, found through its REST API", () => {
  let peer: PatroniCluster;
  let clients: readonly LoadBalancer[] & AsyncDisposable;
  beforeAll(async () => {
    peer = await startPatroni();
    clients = await openClients(peer.nodes[0] as ManagedNode, { source: "patroni", endpoints: peer.endpoints });
  });
  afterAll(async () => {
    await clients?.[Symbol.asyncDispose]();
    await peer?.[Symbol.asyncDispose]();
  });

  /** Runs clients through a fault, and judges what they lived through. */
  const judge = async (title: string, fault: (node: ManagedNode) => void | Promise<void>, over: (before: ManagedNode) => Promise<void>) => {
    const node = (await peer.leader()) as ManagedNode;
    const report = await runThrough(
      `Patroni, ${title}`,
      clients,
      peer,
      () => fault(node),
      () => over(node),
    );
    expect(report.broken).toEqual([]);
    expect(report.readOutageMs).toBeLessThan(readOutageLimitMs);
    expect(report.writeOutageMs).toBeLessThan(writeOutageLimitMs(report));
    return node;
  };

  test("keep their promises through a switchover", async () => {
    const before = await judge(
      "switchover",
      () => peer.switchover(),
      () => peer.settled(),
    );
    expect(await peer.leader()).not.toBe(before);
  });

  test("keep their promises when the leader's server is killed", async () => {
    await judge(
      "kill -9",
      (node) => node.killServer(),
      () => peer.settled(),
    );
  });

  test("keep their promises when the leader's machine is lost, and find it again", async () => {
    const lost = await judge(
      "leader lost",
      (node) => node.kill(),
      (before) =>
        until(
          "the other one leads",
          async () => {
            const leader = await peer.leader();
            return leader !== undefined && leader !== before;
          },
          60_000,
        ),
    );
    lost.start();
    await peer.settled();
  });

  test("go on reading when etcd is gone and nobody leads, and are told that nothing is written", async () => {
    peer.killEtcd();
    const [lb] = clients as unknown as [LoadBalancer];
    await until("the leader has stepped down", async () => (await peer.leader()) === undefined, 60_000);
    await until("nothing is called primary", () => lb.status.every(({ role }) => role === "replica"), 60_000);
    await until("both serve reads", () => lb.status.every(({ usable }) => usable), 60_000);
    expect((await lb.query("SELECT count(*)::int AS keys FROM register")).rows).toEqual([{ keys: 4 }]);
    expect(await failureOf(lb.query("INSERT INTO written VALUES (1000000)"))).toMatchObject({ code: "database_unavailable" });
  });
});
