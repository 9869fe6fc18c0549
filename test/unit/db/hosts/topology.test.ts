import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerFacts } from "../../../../src/db/hosts/server-facts.ts";
import { type Candidate, decideTopology, type Topology } from "../../../../src/db/hosts/topology.ts";
import { primaryFacts, standbyFacts, subscriberFacts } from "../../../support/server-facts.ts";

const server = (name: string, facts: ServerFacts | undefined, given: Partial<Candidate> = {}): Candidate => ({
  name,
  hint: name === "a" ? "primary" : "replica",
  verdict: undefined,
  mayWrite: true,
  facts,
  ...given,
});

const start = { identity: undefined, primary: "a" };
const known = { identity: { systemId: "7000", timeline: 1 }, primary: "a" };
const reasons = (topology: Topology) => Object.fromEntries([...topology.roles].map(([name, { role, reason }]) => [name, reason || role]));

describe("at the start", () => {
  test("the configured primary is verified and its log is remembered", () => {
    const decided = decideTopology([server("a", primaryFacts()), server("b", standbyFacts())], start);
    expect(decided).toMatchObject({ primary: "a", verified: true, identity: { systemId: "7000", timeline: 1 }, conflict: [] });
    expect(reasons(decided)).toEqual({ a: "primary", b: "replica" });
  });

  test("a configured primary that does not answer keeps its place, unverified", () => {
    expect(decideTopology([server("a", undefined), server("b", standbyFacts())], start)).toMatchObject({ primary: "a", verified: false });
  });

  test("a promoted replica is followed where another standby shares its log", () => {
    const promoted = primaryFacts({ timeline: 2 });
    const decided = decideTopology([server("a", undefined), server("b", promoted), server("c", standbyFacts())], start);
    expect(decided).toMatchObject({ primary: "b", verified: true });
  });

  test("a writable replica that nothing vouches for is not written to", () => {
    const decided = decideTopology([server("a", undefined), server("b", primaryFacts({ timeline: 2 }))], start);
    expect(decided).toMatchObject({ primary: "a", verified: false });
    expect(reasons(decided)).toMatchObject({ b: "not_verified" });
  });

  test("a configured primary that has fallen behind a promoted replica is not written to (B131)", () => {
    const decided = decideTopology([server("a", primaryFacts()), server("b", primaryFacts({ timeline: 2 }))], start);
    expect(decided).toMatchObject({ primary: "b", verified: true, conflict: [] });
    expect(reasons(decided)).toMatchObject({ a: "old_timeline" });
  });

  test("a logical replica with a standby of its own is no primary", () => {
    const list = [server("a", undefined), server("b", subscriberFacts()), server("c", standbyFacts({ systemId: "8000" }))];
    expect(decideTopology(list, start)).toMatchObject({ primary: "a", verified: false });
  });

  test("servers without hints are whatever they say", () => {
    const list = [server("x", standbyFacts(), { hint: undefined }), server("y", primaryFacts(), { hint: undefined })];
    expect(decideTopology(list, { identity: undefined, primary: undefined })).toMatchObject({ primary: "y", verified: true });
  });

  test("a primary in recovery is a replica, and nobody is primary", () => {
    const decided = decideTopology([server("a", standbyFacts()), server("b", standbyFacts())], start);
    expect(decided.primary).toBeUndefined();
    expect(reasons(decided)).toEqual({ a: "replica", b: "replica" });
  });

  test("a server that is asked for its role only is believed", () => {
    const facts = primaryFacts({ systemId: "", timeline: 0, writeLsn: undefined });
    expect(decideTopology([server("a", facts)], start)).toMatchObject({ primary: "a", verified: true, identity: undefined });
  });
});

describe("a failover", () => {
  test("the promoted replica becomes primary, the old one a replica when it is back in recovery (case 35)", () => {
    const during = decideTopology([server("a", undefined), server("b", primaryFacts({ timeline: 2 }))], known);
    expect(during).toMatchObject({ primary: "b", identity: { timeline: 2 } });
    const after = decideTopology([server("a", standbyFacts({ timeline: 2 })), server("b", primaryFacts({ timeline: 2 }))], during);
    expect(reasons(after)).toEqual({ a: "replica", b: "primary" });
  });

  test("a primary that stops answering stays until another one is found", () => {
    expect(decideTopology([server("a", undefined), server("b", standbyFacts())], known)).toMatchObject({ primary: "a", verified: false });
  });

  test("an old primary that accepts writes again is not gone back to (B131)", () => {
    const list = [server("a", primaryFacts()), server("b", primaryFacts({ timeline: 2, startedAt: "b" }))];
    const decided = decideTopology(list, known);
    expect(decided).toMatchObject({ primary: "b", conflict: [] });
    expect(reasons(decided)).toMatchObject({ a: "old_timeline" });
    // Not even when the new one is out of sight.
    const later = decideTopology([server("a", primaryFacts()), server("b", undefined)], decided);
    expect(later.primary).toBe("b");
    expect(decideTopology([server("a", primaryFacts())], later).primary).toBeUndefined();
  });

  test("two that accept writes on one timeline: none is written to, whoever was before (B131)", () => {
    const list = [server("a", primaryFacts({ startedAt: "1" })), server("b", primaryFacts({ startedAt: "2" }))];
    const decided = decideTopology(list, known);
    expect(decided).toMatchObject({ primary: undefined, conflict: ["a", "b"] });
    expect(reasons(decided)).toEqual({ a: "second_primary", b: "second_primary" });
  });

  test("out of recovery but read-only is no primary (case 36)", () => {
    const decided = decideTopology([server("a", undefined), server("b", primaryFacts({ timeline: 2, readOnly: true }))], known);
    expect(decided.primary).toBe("a");
    expect(reasons(decided)).toMatchObject({ b: "replica" });
  });

  test("what is being promoted is read while the primary has just failed to answer, and not beside one that answers", () => {
    const promoted = server("b", primaryFacts({ timeline: 2, readOnly: true }));
    expect(reasons(decideTopology([{ ...server("a", primaryFacts()), missed: true }, promoted], known))).toEqual({
      a: "primary",
      b: "replica",
    });
    expect(reasons(decideTopology([server("a", primaryFacts()), promoted], known))).toEqual({ a: "primary", b: "demoted" });
  });

  test("a demoted primary ends being it by its own word", () => {
    const decided = decideTopology([server("a", primaryFacts({ readOnly: true })), server("b", standbyFacts())], known);
    expect(decided.primary).toBeUndefined();
    expect(reasons(decided)).toEqual({ a: "replica", b: "replica" });
  });

  test("a demoted primary serves nothing once there is a new one", () => {
    const list = [server("a", primaryFacts({ readOnly: true })), server("b", primaryFacts({ timeline: 2 }))];
    expect(reasons(decideTopology(list, known))).toEqual({ a: "demoted", b: "primary" });
  });

  test("one server under two names is no conflict, and may be read under the other one", () => {
    const facts = primaryFacts({ startedAt: "same" });
    const decided = decideTopology([server("a", facts), server("b", facts)], known);
    expect(decided).toMatchObject({ primary: "a", conflict: [] });
    expect(reasons(decided)).toEqual({ a: "primary", b: "replica" });
  });
});

describe("foreign servers", () => {
  test("another system is never primary nor a replica", () => {
    const list = [server("a", undefined), server("b", primaryFacts({ systemId: "9" })), server("c", standbyFacts({ systemId: "9" }))];
    const decided = decideTopology(list, known);
    expect(decided.primary).toBe("a");
    expect(reasons(decided)).toMatchObject({ b: "foreign_system", c: "foreign_system" });
  });

  test("a logical replica is a replica, although it could be written", () => {
    expect(reasons(decideTopology([server("a", primaryFacts()), server("b", subscriberFacts())], known))).toMatchObject({ b: "replica" });
    const alone = decideTopology([server("a", undefined), server("b", subscriberFacts())], start);
    expect(alone).toMatchObject({ primary: "a", verified: false });
  });

  test("a server that only serves reads is never written to", () => {
    const one = server("a", primaryFacts(), { mayWrite: false });
    expect(decideTopology([one], { identity: undefined, primary: undefined }).primary).toBeUndefined();
  });
});

describe("a source that knows about failovers", () => {
  const says = (name: string, facts: ServerFacts | undefined, verdict: Candidate["verdict"]) => server(name, facts, { verdict });

  test("its primary is the only one", () => {
    const list = [says("a", primaryFacts({ startedAt: "1" }), "replica"), says("b", primaryFacts({ startedAt: "2" }), "primary")];
    const decided = decideTopology(list, known);
    expect(decided).toMatchObject({ primary: "b", conflict: [] });
    expect(reasons(decided)).toMatchObject({ a: "not_confirmed" });
  });

  test("an isolated old primary is not written to while the named one is out of sight", () => {
    const decided = decideTopology([says("a", primaryFacts(), "replica"), says("b", undefined, "primary")], known);
    expect(decided.primary).toBeUndefined();
  });

  test("an old primary that does not answer is given up when another one is named", () => {
    expect(decideTopology([says("a", undefined, "replica"), says("b", standbyFacts(), "primary")], known).primary).toBeUndefined();
  });

  test("between two states, the present primary stays", () => {
    expect(decideTopology([says("a", primaryFacts(), undefined), says("b", standbyFacts(), "replica")], known).primary).toBe("a");
  });

  test("between two states, a promotion that shows in the timeline counts", () => {
    const list = [says("a", undefined, undefined), says("b", primaryFacts({ timeline: 2 }), "replica")];
    expect(decideTopology(list, known).primary).toBe("b");
  });

  test("named, but in recovery: no primary", () => {
    expect(decideTopology([says("a", standbyFacts(), "primary"), says("b", standbyFacts(), "replica")], known).primary).toBeUndefined();
  });
});

test("whatever servers say over time, only one that may be written to is, and never one of an older timeline or of another log", () => {
  const facts = fc.option(
    fc.record({
      inRecovery: fc.boolean(),
      readOnly: fc.boolean(),
      systemId: fc.constantFrom("7000", "7000", "7000", "9"),
      timeline: fc.integer({ min: 1, max: 4 }),
      startedAt: fc.constantFrom("1", "2", "3"),
      subscriber: fc.boolean(),
    }),
    { nil: undefined },
  );
  const candidate = (name: string) =>
    fc.record({
      name: fc.constant(name),
      hint: fc.constantFrom(undefined, "primary" as const, "replica" as const),
      verdict: fc.constantFrom(undefined, undefined, "primary" as const, "replica" as const),
      mayWrite: fc.boolean(),
      facts: facts.map((given) => given && primaryFacts(given)),
    });
  const rounds = fc.array(fc.tuple(candidate("a"), candidate("b"), candidate("c")), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(rounds, (list) => {
      let state: Pick<Topology, "identity" | "primary"> = { identity: undefined, primary: "a" };
      for (const candidates of list) {
        const decided = decideTopology(candidates, state);
        const primary = candidates.find(({ name }) => name === decided.primary);
        expect([...decided.roles.values()].filter(({ role }) => role === "primary")).toHaveLength(decided.primary === undefined ? 0 : 1);
        if (decided.conflict.length > 0) expect(decided).toMatchObject({ primary: undefined, verified: false });
        if (state.identity) expect(decided.identity?.systemId).toBe(state.identity.systemId);
        expect(decided.identity?.timeline ?? 0).toBeGreaterThanOrEqual(state.identity?.timeline ?? 0);
        if (decided.verified) {
          expect(primary).toMatchObject({ mayWrite: true, facts: { inRecovery: false, readOnly: false } });
          expect(primary?.facts).toMatchObject({ ...decided.identity });
          if (candidates.some(({ verdict }) => verdict === "primary")) expect(primary?.verdict).toBe("primary");
        } else if (primary) {
          expect(primary).toMatchObject({ name: state.primary, mayWrite: true, facts: undefined });
        }
        state = decided;
      }
    }),
    { numRuns: 500, seed: 11 },
  );
});
