import { describe, expect, test } from "vitest";
import type { ServerFacts } from "../../../../src/db/hosts/server-facts.ts";
import { defaultLagOptions, judge, type KnownPrimary, type Verdict } from "../../../../src/db/hosts/verdict.ts";
import { standbyFacts, subscriberFacts } from "../../../support/server-facts.ts";

const MiB = 1024n * 1024n;
const limits = { ...defaultLagOptions, ignoreReplicationLagTime: false, doubleReplicationLagTime: false };
const at = (lsn: bigint, given: Partial<KnownPrimary> = {}): KnownPrimary => ({
  position: { systemId: "7000", timeline: 1, lsn },
  answers: true,
  ...given,
});
const away = { answers: false };
const unknown: KnownPrimary = { position: undefined, answers: false };
const lagging: Verdict = { usable: false, reason: "lag", stale: false, lagBytes: undefined, lagMs: undefined };

type Case = [title: string, facts: ServerFacts, primary: KnownPrimary, expected: string, before?: Verdict];

describe("while the primary answers", () => {
  test.each<Case>([
    ["recent by time, whatever the bytes", standbyFacts({ replayDelayMs: 60_000, replayLsn: 1n }), at(100n * MiB), ""],
    ["old by time, near by bytes: the primary is idle", standbyFacts({ replayDelayMs: 9e6 }), at(1000n + 8n * MiB), ""], // case 27
    ["old by time and far by bytes", standbyFacts({ replayDelayMs: 60_001 }), at(1001n + 8n * MiB), "lag"], // case 29
    ["a fresh standby that replayed no transaction is judged by bytes", standbyFacts({ replayDelayMs: undefined }), at(1000n), ""], // case 30
    ["no time is not a time of zero", standbyFacts({ replayDelayMs: undefined }), at(100n * MiB), "lag"], // case 30
    [
      "restarted and not streaming, received a segment's start only",
      standbyFacts({ replayDelayMs: 9e6, receiveLsn: 512n, streaming: false }),
      at(1000n),
      "",
    ], // case 31
    [
      "nothing known at all",
      standbyFacts({ replayDelayMs: undefined, replayLsn: undefined, receiveLsn: undefined }),
      at(1000n),
      "lag_unknown",
    ],
    [
      "an older timeline that is not followed any more",
      standbyFacts({ replayDelayMs: 9e6, streaming: false, receiveLsn: undefined }),
      {
        position: { systemId: "7000", timeline: 2, lsn: 1000n },
        answers: true,
      },
      "lag_unknown",
    ],
    [
      "a timeline that the standby has not noticed yet",
      standbyFacts({ replayDelayMs: 9e6 }),
      {
        position: { systemId: "7000", timeline: 2, lsn: 1000n },
        answers: true,
      },
      "",
    ],
    ["ahead of what the primary said before", standbyFacts({ replayDelayMs: undefined, replayLsn: 5000n }), at(1000n), ""],
  ])("%s", (_title, facts, primary, reason) => {
    expect(judge(facts, primary, undefined, limits)).toMatchObject({ usable: reason === "", reason, stale: false });
  });
});

describe("while the primary is away", () => {
  test.each<Case>([
    ["near the primary's last known end", standbyFacts({ replayDelayMs: 9e6, streaming: false }), at(1000n, away), ""], // case 28
    ["far from the primary's last known end", standbyFacts({ replayDelayMs: 9e6, streaming: false }), at(100n * MiB, away), "lag"],
    ["the end never known, all that was received is replayed", standbyFacts({ replayDelayMs: 9e6, streaming: false }), unknown, ""],
    [
      "the end never known, nothing received since the start",
      standbyFacts({ replayDelayMs: undefined, receiveLsn: undefined, streaming: false }),
      unknown,
      "",
    ],
    ["the end never known, much received and not replayed", standbyFacts({ replayDelayMs: 9e6, receiveLsn: 100n * MiB }), unknown, "lag"],
    ["a little received and not replayed: fine stays fine", standbyFacts({ replayDelayMs: 9e6, receiveLsn: 2000n }), unknown, ""],
    [
      "a little received and not replayed: lagging stays lagging",
      standbyFacts({ replayDelayMs: 9e6, receiveLsn: 2000n }),
      unknown,
      "lag",
      lagging,
    ],
  ])("%s", (_title, facts, primary, reason, before) => {
    expect(judge(facts, primary, before, limits)).toMatchObject({ usable: reason === "", reason, stale: true });
  });
});

describe("a logical replica", () => {
  test.each<Case>([
    ["near", subscriberFacts(), at(1000n), ""],
    ["far", subscriberFacts(), at(100n * MiB), "lag"],
    ["that cannot say what it has applied", subscriberFacts({ originLsn: undefined as never }), at(1000n), "origin_unknown"],
    ["is never judged by the clock", subscriberFacts({ replayDelayMs: 0 }), at(100n * MiB), "lag"],
    ["while the primary's end is not known", subscriberFacts(), unknown, "origin_unknown"],
  ])("%s", (_title, facts, primary, reason) => {
    expect(judge(facts, primary, undefined, limits)).toMatchObject({ usable: reason === "", reason });
  });
});

test("the time limit can be doubled or ignored", () => {
  const late = standbyFacts({ replayDelayMs: 100_000 });
  const primary = at(100n * MiB);
  expect(judge(late, primary, undefined, limits).usable).toBe(false);
  expect(judge(late, primary, undefined, { ...limits, doubleReplicationLagTime: true }).usable).toBe(true);
  expect(judge(standbyFacts({ replayDelayMs: undefined }), primary, undefined, { ...limits, ignoreReplicationLagTime: true }).usable).toBe(
    true,
  );
});

test("a server that was asked for its role only is not judged by its log", () => {
  const facts = standbyFacts({ systemId: "", replayDelayMs: undefined, replayLsn: undefined });
  expect(judge(facts, unknown, undefined, limits)).toMatchObject({ usable: true, reason: "" });
});

test("the figures are told along", () => {
  expect(judge(standbyFacts({ replayDelayMs: 5 }), at(3000n), undefined, limits)).toMatchObject({ lagBytes: 2000, lagMs: 5 });
});
