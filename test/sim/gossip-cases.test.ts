import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../src/base/index.ts";
import { type ClusterIdCodec, createClusterGuard } from "../../src/gossip/index.ts";
import { gossipPort } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";
import { withCluster } from "./with-cluster.ts";

const stateAt = (node: SimNode, name: string) => node.member.members().find((record) => record.name === name)?.state;
const counted = (node: SimNode, key: string) => node.counters.get(key) ?? 0;
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

// B31
test("after a restart with an old incarnation a node learns of the accusation and is alive everywhere within 5 s", () =>
  withCluster(31, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(4)) as [SimNode, SimNode, SimNode, SimNode];
    for (let i = 0; i < 30; i++) cluster.setMeta(n2, Uint8Array.of(i));
    await cluster.runUntil("all see all", () => cluster.isConverged(), 120_000);
    await cluster.crash(n2);
    await cluster.runUntil("n2 is seen dead", () => [...cluster.nodes.values()].every((node) => stateAt(node, "n2") === "dead"), 30_000);
    const again = await cluster.start(2);
    await cluster.join(again, n1);
    await cluster.runUntil("n2 is back", () => cluster.isConverged(), 5000);
    expect(n1.member.members().find(({ name }) => name === "n2")?.incarnation).toBeGreaterThan(31);
  }));

// B34
test.each(["left", "crashed"])("a name comes back at a new address after its node %s, and no view holds both addresses", (how) =>
  withCluster(34, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(4)) as [SimNode, SimNode, SimNode, SimNode];
    await cluster.run(2000);
    if (how === "left") await cluster.leave(n2);
    await cluster.crash(n2);
    await cluster.run(1000);
    const again = await cluster.start(22, { name: "n2" });
    await cluster.join(again, n1);
    await cluster.runUntil("n2 is at its new address", () => cluster.isConverged(), 5000);
  }),
);

// B35
test("a node whose name a live node has is refused with both addresses, and leaves no trace", () =>
  withCluster(35, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(2000);
    const intruder = await cluster.start(9, { name: "n2" });
    const error = await cluster.join(intruder, n1).catch((reason: unknown) => reason);
    expect(CodedError.is(error, "failed_precondition")).toBe(true);
    expect((error as CodedError).fields).toMatchObject({ address: "10.0.0.9:7946", otherAddress: "10.0.0.2:7946" });
    await cluster.crash(intruder);
    expect(n2.events.filter(({ type }) => type === "conflict")).toEqual([]);
    await cluster.run(5000);
    expect(cluster.isConverged()).toBe(true);
  }));

// B35
test("two islands that both have a node of one name end with the same one in every view", () =>
  withCluster(36, async (cluster) => {
    const n1 = await cluster.start(1);
    const twinA = await cluster.start(2, { name: "twin" });
    const n3 = await cluster.start(3);
    const twinB = await cluster.start(4, { name: "twin" });
    await cluster.join(twinA, n1);
    await cluster.join(twinB, n3);
    await cluster.run(2000);
    await cluster.join(n1, n3);
    const hosts = () => [n1, n3, twinA, twinB].map(({ member }) => member.members().find(({ name }) => name === "twin")?.host);
    await cluster.runUntil("one twin in every view", () => hosts().every((host) => host === "10.0.0.2"), 60_000);
    expect(twinB.events).toContainEqual(expect.objectContaining({ type: "conflict", other: "10.0.0.4:7946", lost: true }));
    await cluster.run(30_000);
    expect(new Set(hosts())).toEqual(new Set(["10.0.0.2"]));
  }));

// B37
test("halves that were apart for longer than the dead are remembered find each other within 60 s", () =>
  withCluster(37, async (cluster) => {
    await cluster.startJoined(4);
    await cluster.run(5000);
    cluster.network.partition(["10.0.0.1", "10.0.0.2"], ["10.0.0.3", "10.0.0.4"]);
    await cluster.run(180_000);
    for (const { member } of cluster.nodes.values()) expect(member.members()).toHaveLength(2);
    cluster.network.heal();
    await cluster.runUntil("one view of 4", () => cluster.isConverged(), 60_000);
  }));

// B38
test("who joins through an address that is down keeps trying, and all islands become one cluster", () =>
  withCluster(38, async (cluster) => {
    const b = await cluster.start(2);
    const error = await cluster.join(b, "10.0.0.1").catch((reason: unknown) => reason);
    expect(CodedError.is(error, "node_unavailable")).toBe(true);
    const c = await cluster.start(3);
    expect(await cluster.join(c, b)).toBe(1);
    await cluster.run(90_000);
    await cluster.start(1);
    await cluster.runUntil("A, B and C are one", () => cluster.isConverged(), 60_000);
  }));

test("a name that cannot be resolved at first is resolved again at each attempt", () =>
  withCluster(39, async (cluster) => {
    const a = await cluster.start(1);
    const b = await cluster.start(2);
    await cluster.join(b, "later.test").catch(() => 0);
    await cluster.run(60_000);
    cluster.network.names.set("later.test", [a.host]);
    await cluster.runUntil("b has joined", () => cluster.isConverged(), 30_000);
  }));

const codec: ClusterIdCodec = {
  encodeUserState: bytes,
  clusterIdOfUserState: (state) => Buffer.from(state).toString(),
  metaIdOf: (id) => id,
  metaIdOfMeta: (meta) => Buffer.from(meta).toString(),
};
const member = (id: string, requireId = false) => ({
  meta: bytes(id),
  guard: createClusterGuard({ clusterId: () => id, requireId }, codec),
});

// B43
test("clusters with different ids stay apart when an address changes hands: exchanges and claims are refused and counted", () =>
  withCluster(43, async (cluster) => {
    const [g1, g2, g3] = (await cluster.startJoined(3, member("green"))) as [SimNode, SimNode, SimNode];
    await cluster.run(2000);
    await cluster.crash(g2);
    const blue = await cluster.start(2, { ...member("blue"), name: "b2" });
    const error = await cluster.join(blue, g1).catch((reason: unknown) => reason);
    expect(CodedError.is(error, "cluster_mismatch")).toBe(true);
    await cluster.run(180_000);
    expect(g1.member.members().map(({ name }) => name)).toEqual(["n1", "n3"]);
    expect(blue.member.members().map(({ name }) => name)).toEqual(["b2"]);
    expect(counted(g1, "gitaly_cluster_gossip_exchanges_total{passive,refused}")).toBeGreaterThan(0);
    expect(counted(blue, "gitaly_cluster_gossip_exchanges_total{passive,refused}")).toBeGreaterThan(0);
    const seen = await cluster.clock.until(blue.member.queryMembers({ host: g3.host, port: gossipPort }, neverAborted));
    expect([seen.members, Buffer.from(seen.userState).toString()]).toEqual([[], "green"]);
  }));

test("a member that sends no id is taken, unless an id is required", () =>
  withCluster(44, async (cluster) => {
    const lax = await cluster.start(1, member("green"));
    const strict = await cluster.start(2, member("green", true));
    const foreign = await cluster.start(3);
    expect(await cluster.join(foreign, lax)).toBe(1);
    await cluster.join(foreign, strict).catch(() => 0);
    await cluster.run(5000);
    expect(stateAt(lax, "n3")).toBe("alive");
    expect(stateAt(strict, "n3")).toBeUndefined();
  }));

test("members with different labels do not hear each other", () =>
  withCluster(45, async (cluster) => {
    const blue = await cluster.start(1, { label: "blue" });
    const green = await cluster.start(2, { label: "green" });
    await expect(cluster.join(green, blue)).rejects.toMatchObject({ code: "node_unavailable" });
    await cluster.run(5000);
    expect(blue.member.members()).toHaveLength(1);
    expect(counted(blue, "gitaly_cluster_gossip_dropped_total{label}")).toBeGreaterThan(0);
  }));

// B46
test("a leave reaches a member that got no packet from the leaver, and is a leave there", () =>
  withCluster(46, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(4)) as [SimNode, SimNode, SimNode, SimNode];
    await cluster.run(3000);
    cluster.network.cutOneWay(n1.host, n2.host);
    await cluster.leave(n1);
    await cluster.runUntil("n2 knows", () => stateAt(n2, "n1") === "left", 2000);
    expect(n2.events.at(-1)).toMatchObject({ type: "left", reason: "leave", from: "n1" });
  }));

test("who left answers probes until it closes, and may join again with the same instance", () =>
  withCluster(140, async (cluster) => {
    const nodes = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(3000);
    await cluster.leave(nodes[0]);
    await cluster.run(10_000);
    expect(nodes.slice(1).map((node) => stateAt(node, "n1"))).toEqual(["left", "left"]);
    await cluster.join(nodes[0], nodes[1]);
    await cluster.runUntil("n1 is back", () => cluster.isConverged(), 5000);
  }));

// B47
test("with UDP blocked between two members nothing changes but one warning that says so", () =>
  withCluster(47, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(2)) as [SimNode, SimNode];
    await cluster.run(3000);
    const before = n1.events.length;
    cluster.network.cut(n1.host, n2.host, "packets");
    await cluster.run(120_000);
    expect(n1.events.slice(before)).toEqual([]);
    expect(n1.warnings.map(({ message }) => message)).toEqual(["UDP to a member is blocked, it answers over TCP only"]);
  }));

// B50
test("malformed datagrams are dropped and counted, and the view stays", () =>
  withCluster(50, async (cluster) => {
    const [n1] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    await cluster.run(3000);
    const before = n1.member.members();
    const claim = (incarnation: string) => Buffer.from(`0483ab496e6361726e6174696f6e${incarnation}a44e6f6465a26e31a4506f727401`, "hex");
    const datagrams = [
      new Uint8Array(),
      Uint8Array.of(0),
      new Uint8Array(65_507).map((_, i) => (i * 7919) >> 3),
      Uint8Array.of(7, 255, 0, 1, 0, 1, 0, 1, 4, 4, 4),
      Buffer.concat([Buffer.of(4), Buffer.alloc(10_000, 0x91)]),
      Buffer.from('{"a":'.repeat(10_000)),
      claim("ff"),
      claim("cf0020000000000001"),
      claim("cb7ff8000000000000"),
      Buffer.from("0481a44e6f646501", "hex"),
    ];
    for (const datagram of datagrams) cluster.network.inject(n1.member.address, datagram);
    await cluster.run(3000);
    expect(n1.member.members()).toBe(before);
    expect(counted(n1, "gitaly_cluster_gossip_dropped_total{malformed}")).toBeGreaterThanOrEqual(datagrams.length);
  }));

// B57
test("a restarted node's new metadata replaces the old record everywhere", () =>
  withCluster(57, async (cluster) => {
    const n1 = await cluster.start(1, { meta: bytes("grpc=1000") });
    const n2 = await cluster.start(2);
    await cluster.start(3);
    for (const node of cluster.nodes.values()) if (node !== n2) await cluster.join(node, n2);
    await cluster.run(3000);
    await cluster.crash(n1);
    const again = await cluster.start(1, { meta: bytes("grpc=2000") });
    await cluster.join(again, n2);
    await cluster.runUntil("all show the new metadata", () => cluster.isConverged(), 5000);
    await cluster.run(60_000);
    expect(cluster.isConverged()).toBe(true);
  }));

test("a process that stood still suspects itself first: it declares nobody dead when it runs again", () =>
  withCluster(60, async (cluster) => {
    const nodes = (await cluster.startJoined(5)) as [SimNode, SimNode, SimNode, SimNode, SimNode];
    await cluster.run(10_000);
    const before = nodes[0].events.length;
    for (let i = 0; i < 6; i++) {
      cluster.network.pause(nodes[0].host);
      await cluster.run(2500);
      cluster.network.resume(nodes[0].host);
      await cluster.run(5000);
    }
    expect(nodes[0].events.slice(before).filter(({ type }) => type === "failed")).toEqual([]);
    await cluster.runUntil("all see all", () => cluster.isConverged(), 30_000);
    for (const node of nodes) expect(node.events.filter(({ type }) => type === "failed")).toEqual([]);
  }));

test("a crash among healthy nodes is seen in 12 s and costs nobody health: the helpers' answers come in time", () =>
  withCluster(61, async (cluster) => {
    const nodes = await cluster.startJoined(6);
    await cluster.run(10_000);
    await cluster.crash(nodes[5] as SimNode);
    await cluster.runUntil("the crash is seen", () => cluster.isConverged(), 12_000);
    const scores = [...cluster.nodes.values()].map(({ readGauge }) => readGauge("gitaly_cluster_gossip_health_score"));
    expect(scores).toEqual([0, 0, 0, 0, 0]);
  }));

test("a user message reaches the others", () =>
  withCluster(62, async (cluster) => {
    const [n1, ...others] = (await cluster.startJoined(3)) as [SimNode, SimNode, SimNode];
    n1.member.broadcast(bytes("hello"));
    await cluster.run(2000);
    for (const { events } of others) expect(events).toContainEqual({ type: "message", payload: bytes("hello") });
  }));

test("a member that left and closed has no timer left, not even the one of its farewell", () =>
  withCluster(47, async (cluster) => {
    const [n1, n2] = (await cluster.startJoined(2)) as [SimNode, SimNode];
    await cluster.run(2000);
    await cluster.crash(n1);
    await cluster.leave(n2);
    await cluster.crash(n2);
    // What was still on its way.
    await cluster.run(10);
    expect(cluster.clock.pending).toBe(0);
  }));
