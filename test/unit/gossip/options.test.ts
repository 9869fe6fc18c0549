import { expect, test } from "vitest";
import { checkTuning } from "../../../src/gossip/check-tuning.ts";
import { createMember, gossipPresets, type MemberOptions } from "../../../src/gossip/index.ts";
import { tuningOf } from "../../../src/gossip/options.ts";

const tuning = (options: Partial<MemberOptions>) => tuningOf({ name: "n1", bindHost: "127.0.0.1", bindPort: 0, ...options });

test("a preset gives all values that are not given, and the one for one site is the default", () => {
  expect(tuning({})).toEqual(gossipPresets.lan);
  expect(tuning({ preset: "wan", gossipNodes: 7, probeTimeoutMs: undefined as never })).toEqual({ ...gossipPresets.wan, gossipNodes: 7 });
  expect(tuning({ preset: "local" })).toEqual(gossipPresets.local);
});

test.each([
  ["lan", [1000, 500, 3, 4, 6, 8, 200, 3, 30_000, 4, 30_000, 10_000]],
  ["wan", [5000, 3000, 3, 6, 6, 8, 500, 4, 60_000, 4, 60_000, 30_000]],
  ["local", [1000, 200, 1, 3, 6, 8, 100, 3, 15_000, 2, 15_000, 1000]],
] as const)("the preset %s has memberlist's timing", (preset, values) => {
  const { probeIntervalMs, probeTimeoutMs, indirectChecks, suspicionMultiplier, suspicionMaxMultiplier, ...rest } = gossipPresets[preset];
  const { awarenessMaxMultiplier, gossipIntervalMs, gossipNodes, gossipToTheDeadMs, retransmitMultiplier, ...last } = rest;
  expect([
    ...[probeIntervalMs, probeTimeoutMs, indirectChecks, suspicionMultiplier, suspicionMaxMultiplier],
    ...[awarenessMaxMultiplier, gossipIntervalMs, gossipNodes, gossipToTheDeadMs, retransmitMultiplier],
    ...[last.pushPullIntervalMs, last.streamTimeoutMs],
  ]).toEqual(values);
});

test.each<[string, Partial<MemberOptions>]>([
  ["no number", { probeIntervalMs: Number.NaN }],
  ["an endless time", { pushPullIntervalMs: Number.POSITIVE_INFINITY }],
  ["a fraction", { gossipNodes: 2.5 }],
  ["nobody to tell", { gossipNodes: 0 }],
  ["no time at all", { gossipIntervalMs: 0 }],
  ["a longer time than timers have", { rejoinIntervalMs: 2 ** 31 }],
  ["packets that news may not fit into", { packetBytes: 1199 }],
  ["packets that UDP has not", { packetBytes: 65_508 }],
  ["no time to ask others", { probeIntervalMs: 100 }],
  ["suspicions of weeks", { probeIntervalMs: 3_600_000, suspicionMultiplier: 100 }],
])("%s is an error", (_what, options) => {
  expect(() => checkTuning(tuning(options))).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test.each(["lan", "wan", "local"] as const)("the preset %s is in order, and so is each bound", (preset) => {
  for (const options of [{}, { packetBytes: 1200, indirectChecks: 0, rejoinMemoryMs: 0 }, { packetBytes: 65_507, probeTimeoutMs: 1000 }]) {
    expect(() => checkTuning(tuning({ preset, ...options }))).not.toThrow();
  }
});

test("a member with such a setting is not started", async () => {
  const starting = createMember({ name: "n1", bindHost: "127.0.0.1", bindPort: 0, gossipNodes: 0 });
  await expect(starting).rejects.toMatchObject({ code: "invalid_argument", fields: { setting: "gossipNodes", value: 0 } });
});
