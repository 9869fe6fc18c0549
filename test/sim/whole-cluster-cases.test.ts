import { expect, test } from "vitest";
import { formCluster } from "./form-cluster.ts";
import type { SimNode } from "./sim-node.ts";
import { withCluster } from "./with-cluster.ts";

const failures = (nodes: readonly SimNode[]) => nodes.flatMap(({ events }) => events.filter(({ type }) => type === "failed"));

// B41
test.each([
  ["refuse", false],
  ["are silent", true],
])("of three addresses of a name two %s, and the third leads into the cluster within 2 s", (_how, off) =>
  withCluster(41, async (cluster) => {
    await cluster.startJoined(3);
    for (const index of [90, 91]) await cluster.crash(await cluster.start(index), off);
    cluster.network.names.set("web.test", ["10.0.0.90", "10.0.0.2", "10.0.0.91"]);
    const newcomer = await cluster.start(4);
    const joining = cluster.joining(newcomer, "web.test");
    await cluster.runUntil("the newcomer is a member", () => cluster.isConverged(), 2000);
    expect(await cluster.clock.until(joining)).toBe(1);
  }),
);

// B42
test("of a name with 200 live addresses a newcomer asks a few, and sees all of them", () =>
  withCluster(42, async (cluster) => {
    const nodes = await formCluster(cluster, 200);
    cluster.network.names.set(
      "all.test",
      nodes.map(({ host }) => host),
    );
    const newcomer = await cluster.start(300);
    expect(await cluster.join(newcomer, "all.test")).toBe(8);
    // Each of them is asked, then told.
    expect(cluster.network.transport(newcomer.member.address)?.dials).toBeLessThanOrEqual(16);
    await cluster.runUntil("all see all", () => cluster.isConverged(), 10_000);
  }));

// B45
test.each(["at the same address", "at another address"])(
  "the successor of a member that was killed while it left is taken at once, %s",
  (where) =>
    withCluster(45, async (cluster) => {
      const [n1, n2] = (await cluster.startJoined(5)) as [SimNode, SimNode, SimNode, SimNode, SimNode];
      await cluster.run(5000);
      const leaving = cluster.leaving(n2);
      await cluster.run(50);
      await cluster.crash(n2);
      await leaving;
      const again = await cluster.start(where === "at the same address" ? 2 : 22, { name: "n2", meta: Uint8Array.of(2) });
      await cluster.join(again, n1);
      await cluster.runUntil("the successor is in every view", () => cluster.isConverged(), 5000);
      await cluster.run(60_000);
      expect(cluster.isConverged()).toBe(true);
    }),
);

// B51
test("300 messages that wait at one time all arrive, in several datagrams", () =>
  withCluster(51, async (cluster) => {
    const [n1, ...others] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(5000);
    const before = cluster.network.transport(n1.member.address)?.packetsOut ?? 0;
    for (let i = 0; i < 300; i++) n1.member.broadcast(Uint8Array.of(i >> 8, i & 255));
    await cluster.run(10_000);
    for (const { events } of others) {
      const heard = events.flatMap((event) => (event.type === "message" ? [Buffer.from(event.payload).readUInt16BE()] : []));
      expect([...new Set(heard)].sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    }
    expect((cluster.network.transport(n1.member.address)?.packetsOut ?? 0) - before).toBeGreaterThan(2);
  }));

// B53
test("members whose packets come from another address than they advertise stay members", () =>
  withCluster(53, async (cluster) => {
    for (const index of [2, 3]) cluster.network.nat.set(`10.0.0.${index}`, { host: "172.17.0.1", port: 40_000 + index });
    const nodes = await cluster.startJoined(4);
    await cluster.runUntil("all see all", () => cluster.isConverged(), 5000);
    await cluster.run(120_000);
    expect(cluster.suspicions).toBe(0);
    expect(failures(nodes)).toEqual([]);
    expect(cluster.isConverged()).toBe(true);
  }));

// B31
test("after a crash of all members at once, each back with its first incarnation, all see all within 5 s of the last start", () =>
  withCluster(31, async (cluster) => {
    const nodes = await cluster.startJoined(8);
    for (let i = 0; i < 20; i++) for (const node of nodes) cluster.setMeta(node, Uint8Array.of(i));
    await cluster.runUntil("all see all", () => cluster.isConverged(), 60_000);
    // Half of them come back before the others are gone, and hear of their earlier life from those.
    for (const half of [nodes.slice(0, 4), nodes.slice(4)]) {
      for (const node of half) await cluster.crash(node);
      const again = [];
      for (const { name } of half) again.push(await cluster.start(Number(name.slice(1)), { meta: Uint8Array.of(99) }));
      for (const node of again) await cluster.join(node, ...nodes.map(({ host }) => host)).catch(() => 0);
    }
    await cluster.runUntil("all see all again", () => cluster.isConverged(), 5000);
    await cluster.run(60_000);
    expect(cluster.isConverged()).toBe(true);
  }));

test.each(["hears nobody", "is heard by nobody"])("a member that %s for 300 s is back in every view within 60 s", (how) =>
  withCluster(300, async (cluster) => {
    const [n1, ...others] = (await cluster.startJoined(6)) as [SimNode, ...SimNode[]];
    await cluster.run(5000);
    for (const { host } of others) {
      if (how === "hears nobody") cluster.network.cutOneWay(host, n1.host);
      else cluster.network.cutOneWay(n1.host, host);
    }
    cluster.hold(n1);
    await cluster.run(300_000);
    cluster.network.heal();
    cluster.release(n1);
    await cluster.runUntil("all see all", () => cluster.isConverged(), 60_000);
    // Nobody took anyone else for dead because of it.
    const falsely = failures(others).filter((event) => event.type !== "message" && event.member.name !== "n1");
    expect(falsely).toEqual([]);
  }),
);

// Found by: npm run sim -- --scenario mixed --seed 64 --nodes 3 --minutes 60
test("what nobody was left to be told about a node is not told once the node is forgotten: it would strike its successor", () =>
  withCluster(64, async (cluster) => {
    const [n1, n2, n3] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(5000);
    await cluster.crash(n2);
    await cluster.runUntil("n2 is forgotten", () => n3.member.members().length === 2, 120_000);
    await cluster.leave(n1);
    await cluster.crash(n1);
    expect(n3.readGauge("gitaly_cluster_gossip_queue_length")).toBe(1);
    await cluster.runUntil("n1 is forgotten", () => n3.member.members().length === 1, 120_000);
    expect(n3.readGauge("gitaly_cluster_gossip_queue_length")).toBe(0);
  }));

// Found by: npm run sim -- --scenario mixed --seed 6 --nodes 30 --minutes 20
test("a node that came back so quickly that a member noticed nothing shows its new metadata there too", () =>
  withCluster(6, async (cluster) => {
    const [n1, n2, n3] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(5000);
    await cluster.crash(n1);
    // n2 hears nothing of what the others tell each other about the new process.
    cluster.network.cut(n2.host, n3.host);
    cluster.network.cut(n2.host, n1.host);
    const again = await cluster.start(1, { meta: Uint8Array.of(7) });
    await cluster.join(again, n3);
    cluster.network.heal();
    await cluster.runUntil("all see the new metadata", () => cluster.isConverged(), 90_000);
  }));
