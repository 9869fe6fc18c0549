import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { MemberRecord } from "../../src/gossip/index.ts";
import { buildGoAgent } from "../support/go-agent.ts";
import { type GossipPeer, until } from "../support/gossip-peer.ts";
import { MixedCluster, type MixedClusterOptions, type SixPeers } from "../support/mixed-cluster.ts";

// Two members of HashiCorp's memberlist and four of ours, in each form that the traffic can have.
vi.setConfig({ maxConcurrency: 16 });
const go = buildGoAgent("gossip-steady");
if (go.failed) {
  test("the agent of Go members can be built where there is Go", () => {
    expect(go.missing).toBeUndefined();
  });
}

const key = (bytes: number, fill: number) => new Uint8Array(bytes).fill(fill);
/** Shrinks to a few percent. */
const state = new Uint8Array(200_000).fill(120);

const compressed = { compress: true, state, ack: Uint8Array.of(10, 11) };
const turningOn = { keys: [key(32, 6)] };
const [silent, sending] = [
  { verifyIncoming: false, verifyOutgoing: false },
  { verifyIncoming: false, verifyOutgoing: true },
];

const cells: readonly (readonly [string, MixedClusterOptions])[] = [
  ["plain", {}],
  ["compressed", compressed],
  ["AES-128", { keys: [key(16, 1)] }],
  ["AES-192", { keys: [key(24, 2)] }],
  ["AES-256", { keys: [key(32, 3)] }],
  ["labelled", { label: "blue" }],
  ["labelled, AES-256 and compressed", { label: "blue", keys: [key(32, 4), key(32, 5)], ...compressed }],
  ["protocol version 1's", { onePort: true, differences: versions(1, 1, 1, 1, 1, 1) }],
  ["protocol version 1's encrypted", { onePort: true, keys: [key(32, 7)], differences: versions(1, 1, 1, 1, 1, 1) }],
  ["protocol version 2 to 5's", { differences: versions(5, 2, 2, 3, 4, 5) }],
  [
    "half plain, half encrypted",
    { ...turningOn, differences: { g1: silent, g2: sending, o1: silent, o2: sending, o3: silent, o4: sending } },
  ],
  ["encrypted, and in part still lenient,", { ...turningOn, differences: { g1: sending, o1: sending, o3: sending } }],
];

function versions(...each: [number, number, number, number, number, number]): NonNullable<MixedClusterOptions["differences"]> {
  return Object.fromEntries(["g1", "g2", "o1", "o2", "o3", "o4"].map((name, i) => [name, { protocolVersion: each[i] as number }]));
}

describe("a cluster of two Go members and four of ours", () => {
  for (const [title, options] of cells) {
    const cell = go.missing === undefined && (options.label === undefined || go.labels) ? test.concurrent : test.concurrent.skip;
    cell(`with ${title} traffic lives 60 s without a suspicion, and both kinds see the same`, async () => {
      await using cluster = new MixedCluster(options);
      const members = await cluster.form();
      const quietUntil = Date.now() + 60_000;
      await exchange(cluster, members);
      await delay(quietUntil - Date.now());
      const nothing = Object.fromEntries(cluster.peers.map(({ name }) => [name, []]));
      expect(Object.fromEntries(cluster.peers.map(({ name, log }) => [name, [...log.suspicions, ...log.complaints]]))).toEqual(nothing);
      if (options.compress) await expectSmall(members);
      await expectSameFarewell(cluster, members);
    });
  }

  const cell = go.missing === undefined ? test.concurrent : test.concurrent.skip;
  cell("replaces its key, member by member, and loses nothing", async () => {
    const [old, fresh] = [key(32, 8), key(16, 9)];
    await using cluster = new MixedCluster({ keys: [old] });
    await cluster.form();
    let round = 0;
    for (const change of ["add", "use", "remove"] as const) {
      for (const peer of cluster.peers) {
        await peer.changeKeys(change, change === "remove" ? old : fresh);
        const meta = (++round).toString(16).padStart(4, "0");
        await peer.setMeta(meta);
        const know = (other: GossipPeer) => other === peer || other.log.of(peer.name).at(-1) === `update ${meta}`;
        await until(
          () => cluster.peers.every(know),
          15_000,
          () => cluster.peers.filter((other) => !know(other)).map(({ name, log }) => [name, log.of(peer.name)]),
        );
      }
    }
    for (const { name, log } of cluster.peers) expect([name, ...log.suspicions, ...log.complaints]).toEqual([name]);
    const late = await cluster.ours("o5");
    await expect(late.join(cluster.peers[0]?.address ?? "")).rejects.toMatchObject({ code: "cluster_mismatch" });
  });
});

const largeMeta = { g1: "ab".repeat(512), o1: "cd".repeat(512), o2: "ef" };

/** News and messages from members of each kind to those of the other. */
async function exchange({ peers }: MixedCluster, { g1, g2, o1, o2, o3, o4 }: SixPeers): Promise<void> {
  await g1.setMeta(largeMeta.g1);
  await Promise.all([o1.setMeta(largeMeta.o1), o2.setMeta(largeMeta.o2)]);
  const know = ({ name, log }: GossipPeer) =>
    Object.entries(largeMeta).every(([changed, meta]) => changed === name || log.of(changed).at(-1) === `update ${meta}`);
  await until(
    () => peers.every(know),
    15_000,
    () => peers.filter((peer) => !know(peer)).map(({ name, log }) => [name, log.of("g1"), log.of("o1"), log.of("o2")]),
  );

  const heard = (payload: string, ...by: readonly GossipPeer[]) => by.some(({ log }) => log.messages.includes(payload));
  // Nobody passes on what is gossiped for the user: each time it reaches some members, at last one of the other kind.
  const crossed = () => heard("01", o1, o2, o3, o4) && heard("02", g1, g2);
  for (let round = 0; round < 20 && !crossed(); round++) {
    await g2.broadcast("01");
    await o2.broadcast("02");
    await delay(500);
  }
  await g1.send(o3.address, "05", false);
  await g1.send(o4.address, "06", true);
  await o4.send(g2.address, "07", false);
  await o4.send(g1.address, "08", true);
  await until(
    () => crossed() && heard("05", o3) && heard("06", o4) && heard("07", g2) && heard("08", g1),
    10_000,
    () => peers.map(({ name, log }) => [name, log.messages]),
  );
}

/** Large states and metadata went each way, in few bytes; so did what comes with answers to probes. */
async function expectSmall({ g1, g2, o1, o2 }: SixPeers): Promise<void> {
  for (const { log } of [g1, g2, o1, o2]) expect(new Set(log.states)).toEqual(new Set([state.length]));
  const { tcpBytes, tcpDials } = await g1.request<{ tcpBytes: number; tcpDials: number }>("stats");
  expect(tcpBytes / tcpDials).toBeLessThan(state.length / 10);
  expect(o1.transport.largestPacketBytes).toBeLessThan(largeMeta.o1.length / 2);
  const payload = Buffer.from(compressed.ack).toString("hex");
  expect([g1.log.acks.get("o1"), g1.log.acks.get("o2"), o1.log.acks.get("g1"), o1.log.acks.get("g2")]).toEqual(Array(4).fill(payload));
}

/** A member of each kind leaves. All see it, and all that happened, in the same way. */
async function expectSameFarewell(cluster: MixedCluster, { g1, g2, o1, o4 }: SixPeers): Promise<void> {
  await g2.leave();
  await o4.leave();
  const staying = cluster.peers.filter((peer) => peer !== g2 && peer !== o4);
  await cluster.agree(["g1", "o1", "o2", "o3"], 15_000, staying);
  const states = (members: readonly MemberRecord[]) => members.map(({ name, state }) => `${name} ${state}`).sort();
  const expected = ["g1 alive", "g2 left", "o1 alive", "o2 alive", "o3 alive", "o4 left"];
  expect(states(o1.member.members())).toEqual(expected);
  expect(states((await o1.ask(g1.address)).members)).toEqual(expected);
  for (const { name } of cluster.peers) {
    const stories = staying.filter((peer) => peer.name !== name).map(({ log }) => log.of(name).join("\n"));
    expect(new Set(stories).size, `${name}: ${JSON.stringify(stories)}`).toBe(1);
  }
}
