import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import { Acks } from "../../../src/gossip/acks.ts";
import type { PacketMessage } from "../../../src/gossip/codec/message.ts";
import type { ScriptedPeer } from "../../support/scripted-peer.ts";
import { simRandom } from "../../support/sim-random.ts";
import { WireScene } from "../../support/wire-scene.ts";

/** Answers pings, and requests to ping others with a no after `nackMs`, or not at all. */
function help(scene: WireScene, peer: ScriptedPeer, nackMs?: number): void {
  peer.script({
    onPacket: (messages, from) => {
      for (const message of messages) {
        if (message.type === "ping") peer.say(from, { type: "ack", seqNo: message.seqNo, payload: null });
        if (message.type !== "indirectPing" || nackMs === undefined) continue;
        scene.clock.timer(nackMs, () => peer.say(from, { type: "nack", seqNo: message.seqNo }));
      }
    },
  });
}

const types = (messages: readonly PacketMessage[]) => messages.map(({ type }) => type);
/** Advances until `n<host>` was suspected; returns the time from its first ping to that. */
async function untilSuspected(scene: WireScene, silent: ScriptedPeer): Promise<number> {
  let pingedMs: number | undefined;
  for (let i = 0; i < 20_000 && scene.stateOf(silent.name) !== "suspect"; i++) {
    if (pingedMs === undefined && silent.heardOf("ping").length > 0) pingedMs = scene.clock.monotonic();
    await scene.clock.advance(1);
  }
  return scene.clock.monotonic() - (pingedMs ?? 0);
}

// TestMemberList_Probe, TestMemberList_ProbeNode
test("each known member is pinged once an interval in turn, with a new number each time, and stays alive", async () => {
  await using scene = await WireScene.create();
  const peers = await scene.knownPeers([2, 3]);
  await scene.clock.advance(6000);
  const seqNos = peers.flatMap((peer) => peer.heardOf("ping").map(({ seqNo }) => seqNo));
  expect(seqNos.length).toBe(6);
  expect(new Set(seqNos).size).toBe(6);
  expect(peers.map((peer) => peer.heardOf("ping").length)).toEqual([3, 3]);
  expect([scene.stateOf("n2"), scene.stateOf("n3")]).toEqual(["alive", "alive"]);
});

// TestMemberList_ProbeNode_Suspect
test("a member that answers nobody is suspected after up to three others were asked to ping it", async () => {
  await using scene = await WireScene.create();
  const helpers = await scene.knownPeers([2, 3, 4, 5, 6]);
  for (const helper of helpers) help(scene, helper, 50);
  const [silent] = await scene.knownPeers([7], false);
  if (!silent) return;
  await untilSuspected(scene, silent);
  expect(scene.stateOf("n7")).toBe("suspect");
  const asked = helpers.flatMap((helper) => helper.heardOf("indirectPing"));
  expect(asked).toHaveLength(3);
  for (const request of asked) expect(request).toMatchObject({ node: "n7", target: silent.source.address, port: 7946, nack: true });
});

// TestMemberList_ProbeNode_Awareness_Degraded
test("a member that doubts itself waits twice as long, and with a no of every helper its doubt stays as it is", async () => {
  await using scene = await WireScene.create();
  const helpers = await scene.knownPeers([2, 3]);
  for (const helper of helpers) help(scene, helper, 50);
  const [silent] = await scene.knownPeers([4], false);
  if (!silent) return;
  const accuse = () => helpers[0]?.say(scene.address, { type: "suspect", incarnation: 1000 + accusations++, node: "n1", from: "n2" });
  let accusations = 0;
  // Probes of the others lower the doubt by one each; accusations raise it again.
  while (silent.heardOf("ping").length === 0) {
    while (scene.health() < 1) {
      accuse();
      await scene.clock.advance(2);
    }
    await scene.clock.advance(1);
  }
  expect(scene.health()).toBe(1);
  const waitedMs = await untilSuspected(scene, silent);
  expect(waitedMs).toBeGreaterThan(1900);
  expect(waitedMs).toBeLessThan(2100);
  expect(scene.health()).toBe(1);
});

// TestMemberList_ProbeNode_Awareness_Improved
test("an answered probe takes one from a member's doubt of itself", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  peer?.say(scene.address, { type: "suspect", incarnation: 5, node: "n1", from: "n9" });
  await scene.clock.advance(2);
  expect(scene.health()).toBe(1);
  await scene.clock.advance(1100);
  expect([scene.health(), scene.stateOf("n2")]).toEqual([0, "alive"]);
});

// TestMemberList_ProbeNode_Awareness_MissedNack
test("each helper that says nothing, neither yes nor no, adds one to the doubt", async () => {
  await using scene = await WireScene.create();
  const [loud, mute] = await scene.knownPeers([2, 3]);
  if (!loud || !mute) return;
  help(scene, loud, 50);
  help(scene, mute);
  const [silent] = await scene.knownPeers([4], false);
  if (!silent) return;
  const waitedMs = await untilSuspected(scene, silent);
  expect([waitedMs < 1050, scene.health()]).toEqual([true, 1]);
});

// TestMemberList_ProbeNode_Awareness_OldProtocol
test("where the helpers are too old to say no, a failed probe adds one to the doubt", async () => {
  await using scene = await WireScene.create();
  const helpers = [await scene.peer(2), await scene.peer(3)];
  for (const helper of helpers) {
    help(scene, helper);
    helper.say(scene.address, helper.alive({ versions: Uint8Array.of(1, 3, 2, 0, 0, 0) }));
  }
  const [silent] = await scene.knownPeers([4], false);
  if (!silent) return;
  await untilSuspected(scene, silent);
  expect(helpers.flatMap((helper) => helper.heardOf("indirectPing").map(({ nack }) => nack))).toEqual([false, false]);
  expect(scene.health()).toBe(1);
});

// TestMemberList_ProbeNode_FallbackTCP_Disabled, _OldProtocol
test.each([
  ["streams are not to be used", { streamProbes: false }, 5],
  ["the peer is too old for them", {}, 2],
])("a member that would answer a stream is suspected where %s", async (_why, options, maxVersion) => {
  await using scene = await WireScene.create(options);
  const peer = await scene.peer(2);
  peer.script({
    onStream: async (message, reply) => {
      if (message.type === "ping") await reply({ type: "ack", seqNo: message.seqNo, payload: null });
    },
  });
  peer.say(scene.address, peer.alive({ versions: Uint8Array.of(1, maxVersion, 2, 0, 0, 0) }));
  await scene.clock.advance(2500);
  expect([scene.stateOf("n2"), peer.streams]).toEqual(["suspect", []]);
});

// TestMemberList_ProbeNode_Buddy
test("a suspect gets the accusation in the same datagram as the ping", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2], false);
  if (!peer) return;
  await untilSuspected(scene, peer);
  peer.packets.length = 0;
  await scene.clock.advance(1100);
  const pinged = peer.packets.find((messages) => messages[0]?.type === "ping") ?? [];
  expect(types(pinged)).toContain("suspect");
  expect(peer.heardOf("suspect")[0]).toMatchObject({ node: "n2", incarnation: 1, from: "n1" });
});

// TestMemberList_ProbeNode_Buddy
test("a member that is accused together with a ping acknowledges, and says something newer of itself", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  peer.packets.length = 0;
  const ping: PacketMessage = { type: "ping", seqNo: 7, node: "n1", source: peer.source };
  peer.say(scene.address, ping, { type: "suspect", incarnation: 1, node: "n1", from: "n2" });
  await scene.clock.advance(210);
  expect(peer.heardOf("ack").map(({ seqNo }) => seqNo)).toEqual([7]);
  expect(peer.heardOf("alive")).toContainEqual(expect.objectContaining({ node: "n1", incarnation: 2 }));
});

// TestMemberlist_Gossip
test("news reaches as many members at once as a round has", async () => {
  await using scene = await WireScene.create();
  const peers = await scene.knownPeers([2, 3, 4]);
  for (const peer of peers) peer.packets.length = 0;
  scene.member.setMeta(Uint8Array.of(7));
  await scene.clock.advance(210);
  for (const peer of peers) {
    expect(peer.heardOf("alive")).toContainEqual(expect.objectContaining({ node: "n1", meta: Uint8Array.of(7) }));
  }
});

// TestMemberlist_GossipToDead
test("the dead still hear news for the configured time, and not after it; those who left never do", async () => {
  await using scene = await WireScene.create({ gossipToTheDeadMs: 5000 });
  const [living, dead, left] = await scene.knownPeers([2, 3, 4]);
  if (!living || !dead || !left) return;
  living.say(scene.address, { type: "dead", incarnation: 1, node: "n3", from: "n2" });
  left.say(scene.address, { type: "dead", incarnation: 1, node: "n4", from: "n4" });
  await scene.clock.advance(2000);
  const heard = async () => {
    for (const peer of [living, dead, left]) peer.packets.length = 0;
    scene.member.setMeta(Uint8Array.of(1));
    await scene.clock.advance(1000);
    return [living, dead, left].map((peer) => peer.heardOf("alive").length > 0);
  };
  expect(await heard()).toEqual([true, true, false]);
  await scene.clock.advance(4000);
  expect(await heard()).toEqual([true, false, false]);
});

// TestMemberlist_PushPull
test("a full exchange starts by itself after the interval and carries what is known", async () => {
  await using scene = await WireScene.create({ pushPullIntervalMs: 2000 });
  const [peer] = await scene.knownPeers([2]);
  peer?.say(scene.address, peer.alive({ node: "n3", address: Uint8Array.of(10, 0, 0, 3) }));
  await scene.clock.advance(4000);
  const exchange = peer?.streams.find(({ type }) => type === "pushPull");
  expect(exchange).toMatchObject({ type: "pushPull", join: false });
  expect(exchange?.type === "pushPull" && exchange.nodes.map(({ name }) => name).sort()).toEqual(["n1", "n2", "n3"]);
});

// TestMemberList_ResetNodes, TestMoveDeadNodes
test("the dead are forgotten when their time is over, the living never, and the dead are not probed", async () => {
  await using scene = await WireScene.create({ gossipToTheDeadMs: 5000 });
  const [living, dead] = await scene.knownPeers([2, 3]);
  if (!living || !dead) return;
  living.say(scene.address, { type: "dead", incarnation: 1, node: "n3", from: "n2" });
  await scene.clock.advance(5);
  dead.packets.length = 0;
  await scene.clock.advance(4500);
  // A ping that goes with news names its receiver and waits for no answer; a probe comes alone once there is no news.
  const probes = dead.packets.filter((messages) => messages.length === 1 && messages[0]?.type === "ping");
  expect([scene.stateOf("n3"), probes]).toEqual(["dead", []]);
  await scene.clock.advance(3000);
  expect([scene.stateOf("n2"), scene.stateOf("n3")]).toEqual(["alive", undefined]);
});

// TestMemberList_NextSeq, _setProbeChannels, _setAckHandler, _invokeAckHandler, _Channel_Ack, _Channel_Nack
test("an answer reaches who asked under its number until that is given up, and any other number is nothing", () => {
  const acks = new Acks(simRandom(1));
  const heard: string[] = [];
  const expectAs = (name: string) => acks.expect({ onAck: () => heard.push(`${name} ack`), onNack: () => heard.push(`${name} nack`) });
  const [first, second] = [expectAs("first"), expectAs("second")];
  expect(second).toBe(first + 1);
  acks.nack(first, false);
  acks.ack(second, null);
  acks.ack(first, null);
  acks.ack(second + 1, null);
  acks.forget(first);
  acks.ack(first, null);
  acks.nack(first, false);
  expect(heard).toEqual(["first nack", "second ack", "first ack"]);
});

// TestMemberlist_UserData, TestMemberlist_SendTo
test("user messages that peers gossip or send over a stream are events, and those of this member reach the peers", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  peer.say(scene.address, { type: "user", payload: Uint8Array.of(1) }, { type: "user", payload: Uint8Array.of(2) });
  await scene.clock.until(peer.ask(scene.address, { type: "user", payload: Uint8Array.of(3) }));
  await scene.clock.advance(5);
  const payloads = scene.events.flatMap((event) => (event.type === "message" ? [...event.payload] : []));
  expect(payloads.sort()).toEqual([1, 2, 3]);
  scene.member.broadcast(Uint8Array.of(4));
  await scene.clock.until(scene.member.send("n2", Uint8Array.of(5), { reliable: false }));
  await scene.clock.until(scene.member.send("n2", Uint8Array.of(6), { reliable: true }));
  await scene.clock.advance(500);
  const datagrams = new Set(peer.heardOf("user").flatMap(({ payload }) => [...payload]));
  expect([datagrams, peer.streams]).toEqual([new Set([4, 5]), [{ type: "user", payload: Uint8Array.of(6) }]]);
});

// TestMemberlist_Leave
test("a member that leaves says so, shows itself as left, and is not refuted into life by old news", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  await scene.clock.until(scene.member.leave(neverAborted));
  expect(peer.heardOf("dead")).toContainEqual({ type: "dead", incarnation: 1, node: "n1", from: "n1" });
  peer.say(scene.address, peer.alive({ node: "n1", incarnation: 9, address: Uint8Array.of(10, 0, 0, 1) }));
  await scene.clock.advance(1000);
  expect(scene.stateOf("n1")).toBe("left");
});
