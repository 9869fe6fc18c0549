import { expect, test } from "vitest";
import type { PacketMessage, PushPullMessage, Source } from "../../../src/gossip/codec/message.ts";
import { remoteNode } from "../../support/membership-state.ts";
import { WireScene } from "../../support/wire-scene.ts";

const none = new Uint8Array();
const noSource: Source = { address: none, port: 0, node: "" };
const ping = (seqNo: number, node: string, source = noSource): PacketMessage => ({ type: "ping", seqNo, node, source });

// TestHandlePing
test("a ping is acknowledged with its number, and one that names nobody is meant for whoever gets it", async () => {
  await using scene = await WireScene.create();
  const peer = await scene.peer(2);
  peer.say(scene.address, ping(42, "n1"));
  peer.say(scene.address, ping(43, ""));
  await scene.clock.advance(5);
  expect(
    peer
      .heardOf("ack")
      .map(({ seqNo }) => seqNo)
      .sort(),
  ).toEqual([42, 43]);
});

// TestHandlePing_WrongNode
test("a ping for another name is not answered", async () => {
  await using scene = await WireScene.create();
  const peer = await scene.peer(2);
  peer.say(scene.address, ping(42, "n1-bad", peer.source));
  await scene.clock.advance(2000);
  expect(peer.heardOf("ack")).toEqual([]);
});

// TestHandleCompoundPing
test("each ping of a compound is acknowledged", async () => {
  await using scene = await WireScene.create();
  const peer = await scene.peer(2);
  peer.say(scene.address, ping(42, "n1"), ping(42, "n1"), ping(42, "n1"));
  await scene.clock.advance(5);
  expect(peer.heardOf("ack").map(({ seqNo }) => seqNo)).toEqual([42, 42, 42]);
});

test("of very many pings in one datagram a few are answered", async () => {
  await using scene = await WireScene.create();
  const peer = await scene.peer(2);
  peer.say(scene.address, ...Array.from({ length: 200 }, () => ping(42, "n1")));
  await scene.clock.advance(5);
  expect(peer.heardOf("ack").length).toBe(8);
});

test("what comes with a ping for another name is not taken, and its sender is not sought", async () => {
  await using scene = await WireScene.create();
  const [stranger, third] = [await scene.peer(2), await scene.peer(3)];
  stranger.say(scene.address, ping(42, "n9", stranger.source), third.alive());
  await scene.clock.advance(5);
  expect(scene.member.members().map(({ name }) => name)).toEqual(["n1"]);
  expect(stranger.heardOf("ack")).toEqual([]);
});

test("nothing is sent to addresses outside of the allowed networks, whoever asks for it", async () => {
  await using scene = await WireScene.create({ allowedNetworks: ["10.0.0.0/30"] });
  const [peer, outside] = [await scene.peer(2), await scene.peer(7)];
  const { address, port, node } = outside.source;
  peer.say(scene.address, ping(42, "n1", outside.source));
  peer.say(scene.address, { type: "indirectPing", seqNo: 1, target: address, port, node, nack: true, source: peer.source });
  peer.say(scene.address, {
    type: "indirectPing",
    seqNo: 2,
    target: peer.source.address,
    port,
    node: "n2",
    nack: true,
    source: outside.source,
  });
  await scene.clock.advance(5000);
  expect(outside.heard).toEqual([]);
  expect(peer.heardOf("nack")).toEqual([]);
});

// B53
test("an acknowledgement goes to the address that the ping names, wherever the datagram came from", async () => {
  await using scene = await WireScene.create();
  const [named, sender] = [await scene.peer(2), await scene.peer(3)];
  sender.say(scene.address, ping(42, "n1", named.source));
  await scene.clock.advance(5);
  expect([named.heardOf("ack").length, sender.heardOf("ack").length]).toEqual([1, 0]);
});

// TestHandleIndirectPing
test("a request to ping another is served, and its answer passed on under the number of the request", async () => {
  await using scene = await WireScene.create();
  const [asker, target] = [await scene.peer(2), await scene.peer(3)];
  target.answerPings();
  const { address, port, node } = target.source;
  asker.say(scene.address, { type: "indirectPing", seqNo: 100, target: address, port, node, nack: true, source: asker.source });
  await scene.clock.advance(10);
  expect(target.heardOf("ping")).toEqual([expect.objectContaining({ node: "n3", source: expect.objectContaining({ node: "n1" }) })]);
  expect(asker.heardOf("ack").map(({ seqNo }) => seqNo)).toEqual([100]);
  expect(target.heardOf("ping")[0]?.seqNo).not.toBe(100);
});

// TestSendMsg_Piggyback
test("news that waits rides on an acknowledgement", async () => {
  await using scene = await WireScene.create({ gossipIntervalMs: 600_000 });
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  // The first round of gossip is over; what comes now waits for the next one.
  peer.say(scene.address, peer.alive({ node: "rand", incarnation: 10, address: Uint8Array.of(10, 0, 0, 99) }));
  await scene.clock.advance(5);
  peer.packets.length = 0;
  peer.say(scene.address, ping(42, "n1"));
  await scene.clock.advance(5);
  expect(peer.packets[0]?.map(({ type }) => type)).toContain("alive");
  expect(peer.packets[0]?.[0]).toEqual({ type: "ack", seqNo: 42, payload: null });
  expect(peer.heardOf("alive")).toContainEqual(expect.objectContaining({ node: "rand", incarnation: 10 }));
});

// TestTCPPing
test("a ping over a stream is acknowledged, and one for another name gets the end of the stream", async () => {
  await using scene = await WireScene.create();
  const peer = await scene.peer(2);
  const ask = (node: string) => scene.clock.until(peer.ask(scene.address, { type: "ping", seqNo: 23, node, source: noSource }));
  expect(await ask("n1")).toEqual({ type: "ack", seqNo: 23, payload: null });
  expect(await ask("")).toEqual({ type: "ack", seqNo: 23, payload: null });
  expect(await ask("n2")).toBeUndefined();
});

// TestTCPPing, TestMemberList_ProbeNode_FallbackTCP
test.each([
  ["the right acknowledgement", (seqNo: number) => ({ type: "ack" as const, seqNo, payload: null }), "alive"],
  ["one with another number", (seqNo: number) => ({ type: "ack" as const, seqNo: seqNo + 1, payload: null }), "suspect"],
  ["a message of another kind", () => ({ type: "user" as const, payload: none }), "suspect"],
  ["nothing", () => undefined, "suspect"],
])("a member that is silent over datagrams and answers a stream with %s is %3$s", async (_what, answer, expected) => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2], false);
  peer?.script({
    onStream: async (message, reply) => {
      const answered = message.type === "ping" ? answer(message.seqNo) : undefined;
      if (answered) await reply(answered);
    },
  });
  await scene.clock.advance(2500);
  expect(peer?.streams).toContainEqual(expect.objectContaining({ type: "ping", node: "n2" }));
  expect(scene.stateOf("n2")).toBe(expected);
});

// TestTCPPushPull
test("a full exchange is answered with all that is known, and what it brings is taken", async () => {
  await using scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  const nodes = [remoteNode("n3", 1, "alive", 3), remoteNode("n4", 1, "suspect", 4), remoteNode("n5", 1, "dead", 5)];
  const reply = await scene.clock.until(peer.ask(scene.address, { type: "pushPull", join: false, nodes, userState: none }));
  const known = (reply as PushPullMessage).nodes.map(({ name, state }) => `${name} ${state}`).sort();
  expect(known).toEqual(["n1 alive", "n2 alive"]);
  await scene.clock.advance(5);
  expect(["n3", "n4", "n5"].map((name) => scene.stateOf(name))).toEqual(["alive", undefined, undefined]);
});

// TestHandleConn_NilConnAfterRemoveLabelHeaderFromStream
test.each([
  ["nothing", none],
  ["half a label", Uint8Array.of(244, 3, 97)],
  ["another label", Uint8Array.of(244, 1, 97, 0)],
  ["ciphertext without a key", Uint8Array.of(10, 0, 0, 0, 40, 1)],
  ["ten million nodes", Buffer.from("0681a54e6f646573ce00989680", "hex")],
  ["thirty million bytes of user state", Buffer.from("0681ac5573657253746174654c656ece01c9c380", "hex")],
  ["a user message of thirty million bytes", Buffer.from("0881aa557365724d73674c656ece01c9c380", "hex")],
])("a stream that brings %s is closed without a view, at the latest at the deadline, and the member lives on", async (_what, bytes) => {
  await using scene = await WireScene.create({ streamTimeoutMs: 1000 });
  const peer = await scene.peer(2);
  const answer = await scene.clock.until(peer.askRaw(scene.address, bytes).catch((error: unknown) => String(error)));
  if (answer !== undefined) expect(answer).toMatchObject({ type: "error" });
  expect(scene.clock.monotonic()).toBeLessThan(1500);
  expect(await scene.clock.until(peer.ask(scene.address, { type: "ping", seqNo: 1, node: "n1", source: noSource }))).toMatchObject({
    seqNo: 1,
  });
});
