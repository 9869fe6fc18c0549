import { CodedError } from "../base/index.ts";
import type { GossipTuning } from "./options.ts";

type NumberOf<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T];

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;
/** The platform fires a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;
/** By how much suspicions last longer in the largest view. */
const largestViewScale = 5;

/** Below the least of `packetBytes`, news of a node with a long name and all metadata would not fit beside label, key and checksum. */
const bounds: Readonly<Record<NumberOf<GossipTuning>, readonly [least: number, most: number]>> = {
  probeIntervalMs: [1, hour],
  probeTimeoutMs: [1, hour],
  indirectChecks: [0, 100],
  suspicionMultiplier: [1, 100],
  suspicionMaxMultiplier: [1, 100],
  awarenessMaxMultiplier: [1, 100],
  gossipIntervalMs: [1, hour],
  gossipNodes: [1, 100],
  gossipToTheDeadMs: [0, 365 * day],
  retransmitMultiplier: [1, 100],
  pushPullIntervalMs: [1, day],
  streamTimeoutMs: [1, day],
  rejoinIntervalMs: [1, day],
  rejoinMemoryMs: [0, 365 * day],
  packetBytes: [1200, 65_507],
};

/** Errors: `invalid_argument` for what no member can run with: no whole number, one out of bounds, or two that contradict each other. */
export function checkTuning(tuning: GossipTuning): void {
  for (const [name, [least, most]] of Object.entries(bounds)) {
    const value = tuning[name as NumberOf<GossipTuning>];
    if (Number.isInteger(value) && value >= least && value <= most) continue;
    throw new CodedError("invalid_argument", "a gossip setting is not a whole number within its bounds", {
      setting: name,
      value,
      least,
      most,
    });
  }
  const { probeIntervalMs, probeTimeoutMs, suspicionMaxMultiplier, suspicionMultiplier } = tuning;
  if (probeTimeoutMs > probeIntervalMs) {
    throw new CodedError("invalid_argument", "probeTimeoutMs is longer than probeIntervalMs", { probeTimeoutMs, probeIntervalMs });
  }
  const longestMs = probeIntervalMs * suspicionMultiplier * suspicionMaxMultiplier * largestViewScale;
  if (longestMs > longestTimerMs) {
    throw new CodedError("invalid_argument", "suspicions could last for weeks", {
      probeIntervalMs,
      suspicionMultiplier,
      suspicionMaxMultiplier,
    });
  }
}
