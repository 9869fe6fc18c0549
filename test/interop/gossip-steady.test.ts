import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { buildGoAgent } from "../support/go-agent.ts";
import { until } from "../support/gossip-peer.ts";
import { MixedCluster, type MixedClusterOptions } from "../support/mixed-cluster.ts";

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

const cells: readonly (readonly [string, MixedClusterOptions])[] = [
  ["plain", {}],
  ["compressed", { compress: true, state }],
  ["AES-128", { keys: [key(16, 1)] }],
  ["AES-192", { keys: [key(24, 2)] }],
  ["AES-256", { keys: [key(32, 3)] }],
  ["labelled", { label: "blue" }],
  ["labelled, AES-256 and compressed", { label: "blue", keys: [key(32, 4), key(32, 5)], compress: true, state }],
];
describe("a cluster of two Go members and four of ours", () => {
  for (const [title, options] of cells) {
    test.concurrent.skipIf(!possible(options))(
      `with ${title} traffic lives 60 s without a suspicion, and both kinds see the same`,
      async () => {
        const steadyMs = 60_000;
        await using cluster = new MixedCluster(options);
        const { g1, g2, o1, o2, o3, o4 } = await cluster.form();
        const { peers } = cluster;
        const quietUntil = Date.now() + steadyMs;

        // Metadata of both kinds, as large as it may be.
        const meta = { g1: "ab".repeat(512), o1: "cd".repeat(512), o2: "ef" };
        await g1.setMeta(meta.g1);
        await Promise.all([o1.setMeta(meta.o1), o2.setMeta(meta.o2)]);
        const others = (name: string) => peers.filter((peer) => peer.name !== name);
        const heard = (name: keyof typeof meta) => others(name).every(({ log }) => log.of(name).at(-1) === `update ${meta[name]}`);
        const logs = () => peers.map(({ name, log }) => [name, log.of("g1"), log.of("o1"), log.of("o2")]);
        await until(() => heard("g1") && heard("o1") && heard("o2"), 10_000, logs);

        // User messages that are gossiped: nobody passes them on, so in six members they reach at least three others.
        await g2.broadcast("0102");
        await o2.broadcast("0304");
        const heardBy = (payload: string, kind: string) => peers.some((peer) => peer.kind === kind && peer.log.messages.includes(payload));
        const messages = () => peers.map(({ name, log }) => [name, log.messages]);
        await until(() => heardBy("0102", "ours") && heardBy("0304", "go"), 10_000, messages);

        // And those to one member, in a packet and over a stream.
        await g1.send(o3.address, "05", false);
        await g1.send(o4.address, "06", true);
        await until(() => o3.log.messages.includes("05") && o4.log.messages.includes("06"), 10_000, messages);

        await delay(quietUntil - Date.now());
        expect(Object.fromEntries(peers.map(({ name, log }) => [name, [...log.suspicions, ...log.complaints]]))).toEqual(
          Object.fromEntries(peers.map(({ name }) => [name, []])),
        );
        if (options.compress) {
          const { tcpBytes, tcpDials } = await g1.request<{ tcpBytes: number; tcpDials: number }>("stats");
          expect(tcpBytes / tcpDials).toBeLessThan(state.length / 10);
          expect(o1.transport.largestPacketBytes).toBeLessThan(meta.o1.length / 2);
        }

        // A member of each kind goes.
        await g2.leave();
        await o4.leave();
        const staying = peers.filter((peer) => peer !== g2 && peer !== o4);
        await cluster.agree(["g1", "o1", "o2", "o3"], 10_000, staying);
        const view = await o1.ask(g1.address);
        expect(view.members.map(({ name, state }) => `${name} ${state}`)).toEqual(
          expect.arrayContaining(["g2 left", "o4 left", "g1 alive", "o1 alive"]),
        );
        const own = o1.member.members().filter(({ state }) => state === "left");
        expect(own.map(({ name }) => name)).toEqual(["g2", "o4"]);

        for (const { name } of peers) {
          const histories = staying.filter((peer) => peer.name !== name).map(({ log }) => log.of(name));
          expect(new Set(histories.map((history) => history.join("\n"))).size, `${name}: ${JSON.stringify(histories)}`).toBe(1);
        }
      },
    );
  }
});
