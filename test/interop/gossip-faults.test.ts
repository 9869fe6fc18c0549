import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { sendForged } from "../support/forged-packet.ts";
import { buildGoAgent } from "../support/go-agent.ts";
import { type GossipPeer, until } from "../support/gossip-peer.ts";
import { MixedCluster } from "../support/mixed-cluster.ts";
import type { OurPeer } from "../support/our-peer.ts";

// What goes wrong in clusters of Go members and ours, and how both kinds see it. gossip-steady.test.ts fails where the agent must be there and is not.
vi.setConfig({ maxConcurrency: 16 });
const go = buildGoAgent("gossip-faults");
const cell = go.missing === undefined ? test.concurrent : test.concurrent.skip;
const labelledCell = go.missing === undefined && go.labels ? test.concurrent : test.concurrent.skip;

const all = ["g1", "g2", "o1", "o2", "o3", "o4"];
/** Longer than the longest suspicion of a small cluster. */
const detectionMs = 40_000;
const joins = (count: number) => Array.from({ length: 2 * count - 1 }, (_, i) => (i % 2 === 0 ? "join" : "leave"));

/** What `peer` said of `name`, without the metadata. */
const story = (peer: GossipPeer, name: string) => peer.log.of(name).map((what) => what.split(" ")[0]);

function expectStory(peers: readonly GossipPeer[], name: string, expected: readonly string[]): void {
  const others = peers.filter((peer) => peer.name !== name);
  expect(Object.fromEntries(others.map((peer) => [peer.name, story(peer, name)]))).toEqual(
    Object.fromEntries(others.map((peer) => [peer.name, expected])),
  );
}

const stateIn = async (asker: OurPeer, peer: GossipPeer, name: string) =>
  (await asker.ask(peer.address)).members.find((member) => member.name === name)?.state;

describe("a cluster of two Go members and four of ours", () => {
  cell("agrees that a member of either kind crashed, and takes it back when it starts again at its port", async () => {
    await using cluster = new MixedCluster();
    const { g1, g2, o1, o4 } = await cluster.form();
    for (const victim of [g2, o4]) {
      await victim.crash();
      cluster.ended(victim);
    }
    await cluster.agree(["g1", "o1", "o2", "o3"], detectionMs);
    for (const victim of ["g2", "o4"]) {
      expectStory(cluster.peers, victim, ["join", "leave"]);
      expect(await stateIn(o1, g1, victim)).toBe("dead");
      expect(o1.member.members().find(({ name }) => name === victim)?.state).toBe("dead");
    }
    const [, goPort] = g2.address.split(":");
    const again = await cluster.go("g2", { port: Number(goPort) });
    await again.join(o1.address);
    const [, ourPort] = o4.address.split(":");
    const oursAgain = await cluster.ours("o4", { bindPort: Number(ourPort) });
    await oursAgain.join(g1.address);
    await cluster.agree(all, 15_000);
    const witnesses = cluster.peers.filter((peer) => peer !== again && peer !== oursAgain);
    for (const victim of ["g2", "o4"]) expectStory(witnesses, victim, ["join", "leave", "join"]);
  });

  cell("takes a member of either kind back at another port after it left", async () => {
    await using cluster = new MixedCluster();
    const { g1, g2, o1, o4 } = await cluster.form();
    for (const goer of [g2, o4]) {
      await goer.leave();
      cluster.ended(goer);
      await cluster.agree(cluster.peers.map(({ name }) => name).sort(), 15_000);
      await goer.crash();
    }
    await expectMoved(cluster, o1, g1);
  });

  cell("takes a member of either kind back at another port after it crashed, where Go is told to allow it", async () => {
    await using cluster = new MixedCluster({ tuning: { pushPullIntervalMs: 5000, deadNodeReclaimMs: 1 } });
    const { g1, g2, o1, o4 } = await cluster.form();
    for (const victim of [g2, o4]) {
      await victim.crash();
      cluster.ended(victim);
    }
    await cluster.agree(["g1", "o1", "o2", "o3"], detectionMs);
    await expectMoved(cluster, o1, g1);
  });

  cell("declares nobody dead while a quarter of all packets is lost", async () => {
    await using cluster = new MixedCluster();
    await cluster.form();
    await Promise.all(cluster.peers.map((peer) => peer.lose(0.25)));
    await delay(30_000);
    for (const name of all) expectStory(cluster.peers, name, ["join"]);
    await cluster.agree(all, 0);
  });

  cell("heals after a cut in which each side declared the other dead", async () => {
    await using cluster = new MixedCluster();
    const { g1, g2, o1, o2, o3, o4 } = await cluster.form();
    await cut([g1, o1, o2], [g2, o3, o4]);
    await Promise.all([
      cluster.agree(["g1", "o1", "o2"], detectionMs, [g1, o1, o2]),
      cluster.agree(["g2", "o3", "o4"], detectionMs, [g2, o3, o4]),
    ]);
    // Until the news of the deaths has gone round: a death that is gossiped to the one who died is another case.
    await delay(3000);
    await heal(cluster.peers);
    await cluster.agree(all, 40_000);
    expectBothSides([g1, o1, o2], [g2, o3, o4]);
  });

  cell("heals after a cut that lasted until nobody remembered the other side", async () => {
    await using cluster = new MixedCluster({ tuning: { pushPullIntervalMs: 5000, gossipToTheDeadMs: 1000, rejoinIntervalMs: 3000 } });
    const { g1, g2, o1, o2, o3, o4 } = await cluster.form();
    await cut([g1, o1, o2], [g2, o3, o4]);
    const known = async (asker: OurPeer, peer: GossipPeer) =>
      (await asker.ask(peer.address)).members
        .map(({ name }) => name)
        .sort()
        .join();
    const forgotten = async () => {
      const views = await Promise.all([known(o2, g1), known(o1, o2), known(o4, g2), known(o4, o3)]);
      return views.join(" | ");
    };
    await until(async () => (await forgotten()) === "g1,o1,o2 | g1,o1,o2 | g2,o3,o4 | g2,o3,o4", 60_000, forgotten);
    await heal(cluster.peers);
    await cluster.agree(all, 40_000);
    expectBothSides([g1, o1, o2], [g2, o3, o4]);
  });

  cell("refutes what is said falsely of a member of either kind", async () => {
    await using cluster = new MixedCluster();
    const { g1, g2, o1, o2 } = await cluster.form();
    const incarnations = (peer: GossipPeer) =>
      o1.ask(peer.address).then(({ members }) => new Map(members.map((each) => [each.name, each])));
    const before = await incarnations(g1);
    for (const node of ["g1", "o2"]) {
      const accusation = { node, incarnation: before.get(node)?.incarnation ?? 0, from: "o4" };
      // A suspicion told to others, of both kinds, and then a death told to the one who is said to be dead.
      await sendForged(o1.address, { type: "suspect", ...accusation });
      await sendForged(g2.address, { type: "suspect", ...accusation });
    }
    const refuted = async (node: string, atLeast: number) => {
      const views = await Promise.all(cluster.peers.map((peer) => (peer === o1 ? selfView(o1) : incarnations(peer))));
      return views.every((view) => view.get(node)?.state === "alive" && (view.get(node)?.incarnation ?? 0) >= atLeast);
    };
    for (const node of ["g1", "o2"])
      await until(
        () => refuted(node, (before.get(node)?.incarnation ?? 0) + 1),
        10_000,
        () => node,
      );
    const between = await incarnations(g1);
    await sendForged(g1.address, { type: "dead", node: "g1", incarnation: between.get("g1")?.incarnation ?? 0, from: "o4" });
    await sendForged(o2.address, { type: "dead", node: "o2", incarnation: between.get("o2")?.incarnation ?? 0, from: "g2" });
    for (const node of ["g1", "o2"])
      await until(
        () => refuted(node, (between.get(node)?.incarnation ?? 0) + 1),
        10_000,
        () => node,
      );
    for (const name of all) expectStory(cluster.peers, name, ["join"]);
  });

  cell("keeps a name with the member that has it", async () => {
    await using cluster = new MixedCluster();
    const { g1, g2, o1, o2 } = await cluster.form();
    // Ours asks before it joins, and is told.
    await using intruder = await cluster.ours("g1");
    cluster.ended(intruder);
    await expect(intruder.join(o2.address)).rejects.toMatchObject({
      code: "failed_precondition",
      fields: { name: "g1", address: intruder.address, otherAddress: g1.address },
    });
    for (const peer of cluster.peers) expect(peer.log.of("g1").filter((what) => what === "conflict")).toEqual([]);
    // Go's joins without asking; the holder of the name and a Go member notice. Of equal claims the lower address keeps the name.
    const goIntruder = await cluster.go("o1", { bind: "127.0.0.2" });
    cluster.ended(goIntruder);
    await goIntruder.join(g2.address);
    const noticed = (peer: GossipPeer) => peer.log.of("o1").includes("conflict");
    await until(
      () => noticed(g2) && noticed(o1),
      15_000,
      () => cluster.peers.map(({ name, log }) => [name, log.of("o1")]),
    );
    await goIntruder.crash();
    await cluster.agree(all, 5000);
    for (const peer of cluster.peers) {
      const member = (await o2.ask(peer === o2 ? o1.address : peer.address)).members.find(({ name }) => name === "o1");
      expect(`${member?.host}:${member?.port} ${member?.state}`).toBe(`${o1.address} alive`);
    }
  });

  cell("refuses a member of either kind whose key is another", async () => {
    await using cluster = new MixedCluster({ keys: [new Uint8Array(32).fill(1)] });
    const { g1, g2, o1 } = await cluster.form();
    const wrong = new Uint8Array(32).fill(2);
    await expectRefused(cluster, { keys: [Buffer.from(wrong).toString("hex")] }, { keys: [wrong] }, [g1, o1], "cluster_mismatch");
    await expectRefused(cluster, { keys: [] }, { keys: [] }, [g2, o1], "cluster_mismatch");
  });

  labelledCell("refuses a member of either kind whose label is another, or that has none", async () => {
    await using cluster = new MixedCluster({ label: "blue" });
    const { g1, g2, o1 } = await cluster.form();
    await expectRefused(cluster, { label: "green" }, { label: "green" }, [g1, o1], "node_unavailable");
    await expectRefused(cluster, { label: "" }, { label: "" }, [g2, o1], "node_unavailable");
  });
});

/** New processes take the names g2 and o4 at other ports; all who stayed see it so. */
async function expectMoved(cluster: MixedCluster, o1: OurPeer, g1: GossipPeer): Promise<void> {
  const witnesses = [...cluster.peers];
  const g2 = await cluster.go("g2");
  await g2.join(o1.address);
  const o4 = await cluster.ours("o4");
  await o4.join(g1.address);
  await cluster.agree(all, 15_000);
  for (const { name, address } of [g2, o4]) {
    expectStory(witnesses, name, ["join", "leave", "join"]);
    for (const witness of witnesses) {
      const member = (await o1.ask(witness.address)).members.find((each) => each.name === name);
      expect(`${witness.name}: ${member?.host}:${member?.port}`).toBe(`${witness.name}: ${address}`);
    }
  }
}

function selfView(peer: OurPeer) {
  return new Map(peer.member.members().map((member) => [member.name, member]));
}

async function cut(left: readonly GossipPeer[], right: readonly GossipPeer[]): Promise<void> {
  const addresses = (peers: readonly GossipPeer[]) => peers.map(({ address }) => address);
  await Promise.all([...left.map((peer) => peer.block(addresses(right))), ...right.map((peer) => peer.block(addresses(left)))]);
}

async function heal(peers: readonly GossipPeer[]): Promise<void> {
  await Promise.all(peers.map((peer) => peer.block([])));
}

/** Everyone saw the other side go and return, and nobody of its own side. */
function expectBothSides(left: readonly GossipPeer[], right: readonly GossipPeer[]): void {
  for (const [here, there] of [
    [left, right],
    [right, left],
  ] as const) {
    for (const { name } of here) {
      expectStory(here, name, joins(1));
      expectStory(there, name, joins(2));
    }
  }
}

/** Neither a Go member nor one of ours, with these settings, gets in at any of `doors`; nobody notices them. */
async function expectRefused(
  cluster: MixedCluster,
  goSettings: Readonly<Record<string, unknown>>,
  ourSettings: Parameters<MixedCluster["ours"]>[1],
  doors: readonly GossipPeer[],
  code: string,
): Promise<void> {
  const stranger = await cluster.go("x1", { overrides: { streamTimeoutMs: 2000 }, ...goSettings });
  const ourStranger = await cluster.ours("x2", { streamTimeoutMs: 2000, ...ourSettings });
  for (const each of [stranger, ourStranger]) cluster.ended(each);
  for (const { address } of doors) {
    await expect(stranger.join(address)).rejects.toThrow();
    await expect(ourStranger.join(address)).rejects.toMatchObject({ code });
  }
  expect(await stranger.live()).toEqual(["x1"]);
  expect(await ourStranger.live()).toEqual(["x2"]);
  for (const { log } of cluster.peers) for (const name of ["x1", "x2"]) expect(log.of(name)).toEqual([]);
  await stranger.crash();
  await ourStranger.crash();
}
