import { expect, test } from "vitest";
import { CodedError, systemClock } from "../../src/base/index.ts";
import { makeCompounds } from "../../src/gossip/codec/compound.ts";
import { compressMessage } from "../../src/gossip/codec/compress.ts";
import { codecLimits } from "../../src/gossip/codec/limits.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { Fuzzer } from "../support/fuzzer.ts";
import { HangWatch } from "../support/hang-watch.ts";
import { readCorpus } from "./gossip-corpus.ts";
import { gossipTargets } from "./gossip-targets.ts";

/** Time for each decoder. */
const seconds = Number(process.env["FUZZ_SECONDS"] ?? 1);
/** Another seed for each run; a failure names it. */
const seed = Number(process.env["FUZZ_SEED"] ?? process.pid + (systemClock.now() % 1_000_000));

// B50
test.each(gossipTargets)(
  "$name: any bytes are a value or a protocol error, within the bounds, and so are all kept inputs",
  { timeout: 60_000 + seconds * 2000 },
  async (target) => {
    await using watch = new HangWatch(`${target.name}, seed ${seed}`);
    const corpus = readCorpus(target.name);
    expect(corpus.length).toBeGreaterThan(0);
    const fuzzer = new Fuzzer({ seed, corpus }, target);
    const endMs = systemClock.monotonic() + seconds * 1000;
    do {
      for (let i = 0; i < 100; i++) {
        const bytes = fuzzer.next();
        watch.begin(bytes);
        fuzzer.run(bytes);
      }
    } while (systemClock.monotonic() < endMs);
    expect(fuzzer.kinds).toBeGreaterThan(1);
  },
);

test("the largest datagrams of nested compounds and compressed zeros are cut off at the limits", () => {
  let bomb: Uint8Array = new Uint8Array(60_000);
  for (let i = 0; i < 6; i++) bomb = compressMessage(bomb);
  const parts = Array.from({ length: 255 }, () => compressMessage(new Uint8Array(200_000)));
  const wide = makeCompounds(parts)[0] as Uint8Array;
  const empty = makeCompounds(Array.from({ length: 255 }, () => new Uint8Array()))[0] as Uint8Array;
  const deep = makeCompounds(Array.from({ length: 100 }, () => empty))[0] as Uint8Array;
  for (const bytes of [bomb, wide, deep]) {
    const { messages, problems } = openPacket(bytes, { label: "", keys: [] });
    expect(messages.length).toBeLessThanOrEqual(codecLimits.messagesPerPacket);
    expect(problems.every((problem) => CodedError.is(problem, "protocol_error"))).toBe(true);
    expect(problems.length).toBeGreaterThan(0);
  }
});
