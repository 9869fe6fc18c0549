import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { ScriptedPeer } from "../../support/scripted-peer.ts";
import { WireScene } from "../../support/wire-scene.ts";

/** Answers pings and full exchanges, the latter with itself as the only node. */
function answerAll(peer: ScriptedPeer): void {
  peer.script({
    onPacket: (messages, from) => {
      for (const message of messages) if (message.type === "ping") peer.say(from, { type: "ack", seqNo: message.seqNo, payload: null });
    },
    onStream: async (message, reply) => {
      const { node: name, type: state, ...claim } = peer.alive();
      if (message.type === "pushPull") await reply({ ...message, nodes: [{ ...claim, name, state }], userState: new Uint8Array() });
    },
  });
}

async function withPeer(): Promise<{ scene: WireScene; peer: ScriptedPeer }> {
  const scene = await WireScene.create();
  const [peer] = (await scene.knownPeers([2])) as [ScriptedPeer];
  answerAll(peer);
  return { scene, peer };
}

test("who joins twice at one time after a leave probes as often as before", async () => {
  const { scene, peer } = await withPeer();
  await using _ = scene;
  await scene.clock.until(scene.member.leave(neverAborted));
  const joins = [scene.member.join([peer.transport.address], neverAborted), scene.member.join([peer.transport.address], neverAborted)];
  await scene.clock.until(Promise.all(joins));
  peer.packets.length = 0;
  await scene.clock.advance(20_000);
  const pings = peer.heardOf("ping").length;
  expect(pings).toBeGreaterThanOrEqual(19);
  expect(pings).toBeLessThanOrEqual(21);
});

test("a member that is destroyed while it returns after a leave does nothing any more, and the join says why", async () => {
  const { scene, peer } = await withPeer();
  await using _ = scene;
  await scene.clock.until(scene.member.leave(neverAborted));
  const joining = scene.member.join([peer.transport.address], neverAborted);
  const destroyed = scene.member.destroy();
  await expect(joining).rejects.toMatchObject({ code: "cancelled" });
  await scene.clock.until(destroyed);
  // What is still on its way.
  await scene.clock.advance(100);
  peer.packets.length = 0;
  await scene.clock.advance(20_000);
  expect(peer.packets).toEqual([]);
  expect(scene.clock.pending).toBe(0);
});

test("who closes while it leaves still tells the others, and a second leave waits as the first one does", async () => {
  const { scene, peer } = await withPeer();
  await using _ = scene;
  const settled: string[] = [];
  const leaving = scene.member.leave(neverAborted).then(() => settled.push("first"));
  const again = scene.member.leave(neverAborted).then(() => settled.push("second"));
  const closed = scene.member.close().then(() => settled.push("closed"));
  await scene.clock.advance(0);
  expect(settled).toEqual([]);
  await scene.clock.until(Promise.all([leaving, again, closed]));
  expect(peer.heardOf("dead").length).toBeGreaterThan(0);
  expect(settled.at(-1)).toBe("closed");
});
