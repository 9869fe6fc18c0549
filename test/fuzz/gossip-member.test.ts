import { expect, test } from "vitest";
import { neverAborted, systemClock } from "../../src/base/index.ts";
import type { Source } from "../../src/gossip/codec/message.ts";
import { Fuzzer, type FuzzTarget } from "../support/fuzzer.ts";
import { HangWatch } from "../support/hang-watch.ts";
import { WireScene } from "../support/wire-scene.ts";
import { readCorpus } from "./gossip-corpus.ts";
import { gossipTargets } from "./gossip-targets.ts";

const seconds = Number(process.env["FUZZ_SECONDS"] ?? 1);
const seed = Number(process.env["FUZZ_SEED"] ?? process.pid + (systemClock.now() % 1_000_000));
const noSource: Source = { address: new Uint8Array(), port: 0, node: "" };
/** Timers of a member at rest, of 128 probes for others, and of a suspicion for each node. */
const maxTimers = (nodes: number) => 100 + 3 * 128 + nodes;

// B50
test("a running member that gets any datagrams and streams goes on, holds no more than it may, and ends without a timer left", async () => {
  await using watch = new HangWatch(`a member, seed ${seed}`);
  const scene = await WireScene.create();
  const [peer] = await scene.knownPeers([2]);
  if (!peer) return;
  const from = { host: "10.0.0.2", port: 7946 };
  const known = gossipTargets.filter(({ name }) => name === "packet" || name === "state" || name === "stream");
  const target: FuzzTarget = {
    name: "member",
    dictionary: known[0]?.dictionary ?? [],
    maxBytes: 2000,
    seeds: known.flatMap(({ seeds }) => seeds),
    run: (bytes) => {
      scene.network.inject(scene.address, bytes, from);
      return `${bytes[0]} ${bytes[1]} ${scene.health()}`;
    },
  };
  const fuzzer = new Fuzzer({ seed, corpus: known.flatMap(({ name }) => readCorpus(name)) }, target);
  const endMs = systemClock.monotonic() + seconds * 1000;
  do {
    for (let i = 0; i < 50; i++) {
      const bytes = fuzzer.next();
      watch.begin(bytes);
      fuzzer.run(bytes);
    }
    const stream = peer.askRaw(scene.address, fuzzer.next()).catch(() => undefined);
    await scene.clock.advance(100);
    expect(scene.clock.pending, `timers, seed ${seed}`).toBeLessThan(maxTimers(scene.member.members().length));
    if (fuzzer.count % 1000 < 50) await scene.clock.until(stream);
  } while (systemClock.monotonic() < endMs);
  await scene.clock.advance(20_000);
  const ack = await scene.clock.until(peer.ask(scene.address, { type: "ping", seqNo: 5, node: "n1", source: noSource }));
  expect(ack, `seed ${seed}`).toMatchObject({ type: "ack", seqNo: 5 });
  await scene.clock.until(scene.member.leave(neverAborted));
  await scene[Symbol.asyncDispose]();
  await scene.clock.advance(60_000);
  expect(scene.clock.pending, `timers after the end, seed ${seed}`).toBe(0);
});
