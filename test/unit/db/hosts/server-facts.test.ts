import { expect, test } from "vitest";
import { type FactsRow, factsOf, factsSql, reachedPosition, writtenPosition } from "../../../../src/db/hosts/server-facts.ts";
import { primaryFacts, standbyFacts, subscriberFacts } from "../../../support/server-facts.ts";

const row: FactsRow = {
  in_recovery: true,
  read_only: true,
  server_version: 170010,
  started_at: "then",
  system_id: "7000",
  timeline: 3,
  write_lsn: null,
  receive_lsn: "1/0",
  replay_lsn: null,
  replay_delay_ms: null,
  streaming: true,
  subscriber: false,
};

test("NULL is unknown, never zero", () => {
  expect(factsOf(row, 5)).toEqual({
    inRecovery: true,
    readOnly: true,
    systemId: "7000",
    timeline: 3,
    writeLsn: undefined,
    receiveLsn: 0x1_0000_0000n,
    replayLsn: undefined,
    replayDelayMs: undefined,
    streaming: true,
    serverVersion: 170010,
    subscriber: false,
    startedAt: "then",
    checkedAtMs: 5,
  });
});

test("a clock that runs ahead gives no negative delay", () => {
  expect(factsOf({ ...row, replay_delay_ms: -12 }, 0).replayDelayMs).toBe(0);
});

test("what a logical replica has applied counts with exactly one origin", () => {
  expect(factsOf({ ...row, origins: 1, origin_lsn: "0/10" }, 0).originLsn).toBe(16n);
  expect(factsOf({ ...row, origins: 2, origin_lsn: "0/10" }, 0).originLsn).toBeUndefined();
  expect(factsOf({ ...row, origins: 0, origin_lsn: null }, 0).originLsn).toBeUndefined();
});

test("the role alone is asked without any function of the log", () => {
  expect(factsSql("role", { origins: true, legacy: false })).not.toMatch(/wal|lsn|control|subscription/i);
});

test("a standby that feeds others has an end of its own, except in the legacy form", () => {
  expect(factsSql("full", { origins: false, legacy: false })).toContain("pg_stat_get_wal_senders");
  expect(factsSql("full", { origins: false, legacy: true })).not.toContain("pg_stat_get_wal_senders");
});

test("positions are named after the log they are in", () => {
  const primary = { systemId: "7000", timeline: 2, lsn: 5000n };
  expect(writtenPosition(primaryFacts({ timeline: 2 }))).toEqual({ systemId: "7000", timeline: 2, lsn: 1000n });
  expect(writtenPosition(standbyFacts({ writeLsn: 7n }))).toBeUndefined();
  expect(reachedPosition(standbyFacts({ replayLsn: 900n }), undefined)).toEqual({ systemId: "7000", timeline: 1, lsn: 900n });
  expect(reachedPosition(subscriberFacts(), primary)).toEqual({ systemId: "7000", timeline: 2, lsn: 1000n });
  expect(reachedPosition(subscriberFacts(), undefined)).toBeUndefined();
  expect(reachedPosition(primaryFacts({ timeline: 2 }), primary)).toEqual({ systemId: "7000", timeline: 2, lsn: 1000n });
});
