import { describe, expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../../src/base/index.ts";
import { type CheckedDatabase, checkJob, type JobOptions, jobBinding } from "../../../../src/db/jobs/job-positions.ts";
import { SimClock } from "../../../support/sim-clock.ts";

const positions = { main: { position: "1:1:0/5", source: "primary" } };

/** A database whose replicas have everything from the `after`th look on. */
const database = (name: string, after: number): CheckedDatabase & { looks: number } => ({
  name,
  looks: 0,
  async hasReached() {
    return ++this.looks > after;
  },
});

async function check(given: unknown, options: JobOptions, databases: CheckedDatabase[]) {
  const clock = new SimClock();
  const outcome = await clock.until(checkJob(given, options, databases, { clock, signal: neverAborted }));
  return { strategy: outcome.strategy, waitedMs: clock.monotonic(), outcome };
}

describe("a job that follows what was written when it was put into the queue", () => {
  test.each([
    { profile: "high", after: 0, strategy: "replica", waitedMs: 0 },
    { profile: "high", after: 5, strategy: "replica", waitedMs: 500 },
    { profile: "high", after: 6, strategy: "primary", waitedMs: 500 },
    { profile: "default", after: 1, strategy: "replica", waitedMs: 500 },
    { profile: "default", after: 3, strategy: "replica", waitedMs: 1500 },
    { profile: "default", after: 4, strategy: "primary", waitedMs: 1500 },
  ] as const)("of the profile $profile, with replicas there at look $after, ends on the $strategy after $waitedMs ms", async (one) => {
    const { strategy, waitedMs } = await check(positions, { profile: one.profile }, [database("main", one.after)]);
    expect({ strategy, waitedMs }).toEqual({ strategy: one.strategy, waitedMs: one.waitedMs });
  });

  test("is put back once where it may be late, then reads from the primary", async () => {
    const behind = () => [database("main", 99)];
    const options = { dataConsistency: "delayed", profile: "high" } as const;
    expect((await check(positions, options, behind())).strategy).toBe("retry");
    expect((await check(positions, { ...options, retried: true }, behind())).strategy).toBe("primary");
    expect((await check(positions, { ...options, retried: true }, [database("main", 1)])).strategy).toBe("replica_retried");
  });

  test("that always reads from the primary waits for nobody", async () => {
    const asked = database("main", 0);
    expect(await check(positions, { dataConsistency: "always" }, [asked])).toMatchObject({ strategy: "primary", waitedMs: 0 });
    expect(asked.looks).toBe(0);
  });

  test.each([undefined, null, {}, 1, "x", { main: 1 }, { main: { position: "0/5" } }, { main: { position: 7 } }])(
    "without a position (%j) reads from the primary",
    async (given) => {
      expect((await check(given, {}, [database("main", 0)])).strategy).toBe("primary_no_wal");
    },
  );

  test("waits for every database it has a position of, and asks none again that has it", async () => {
    const given = { ...positions, ci: { position: "2:1:0/9", source: "replica" } };
    const [main, ci, geo] = [database("main", 0), database("ci", 2), database("geo", 99)];
    expect(await check(given, { profile: "high" }, [main, ci, geo])).toMatchObject({ strategy: "replica", waitedMs: 200 });
    expect([main.looks, ci.looks, geo.looks]).toEqual([1, 3, 0]);
  });

  test("stops waiting when it is told to", async () => {
    const controller = new AbortController();
    const waiting = checkJob(positions, {}, [database("main", 99)], { clock: new SimClock(), signal: controller.signal });
    controller.abort(new CodedError("cancelled", "enough"));
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("the session of a checked job", () => {
  test("must see its positions on replicas, and reads the primary of databases that always do", async () => {
    const given = { ...positions, ci: { position: "2:1:0/9", source: "primary" } };
    const { outcome } = await check(given, { dataConsistency: { main: "sticky", ci: "always" } }, [
      database("main", 0),
      database("ci", 99),
    ]);
    expect(jobBinding(outcome, "main")).toEqual({ primary: false, required: [{ systemId: "1", timeline: 1, lsn: 5n }] });
    expect(jobBinding(outcome, "ci")).toEqual({ primary: true, required: [] });
    expect(jobBinding(outcome, "geo")).toEqual({ primary: false, required: [] });
  });

  test("does not exist for one that is to be put back", async () => {
    const { outcome } = await check(positions, { dataConsistency: "delayed", profile: "high" }, [database("main", 99)]);
    expect(() => jobBinding(outcome, "main")).toThrow(CodedError);
  });
});
