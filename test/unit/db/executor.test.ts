import { describe, expect, test } from "vitest";
import { CodedError, neverAborted, type Random } from "../../../src/base/index.ts";
import { defineDbMetrics } from "../../../src/db/db-metrics.ts";
import { defaultExecutorOptions, Executor, type WritePlan } from "../../../src/db/executor.ts";
import { NotConnectedError } from "../../../src/db/hosts/error-class.ts";
import type { Host } from "../../../src/db/hosts/host.ts";
import { HostList, type ReplicaState } from "../../../src/db/hosts/host-list.ts";
import type { HostMonitor } from "../../../src/db/hosts/host-monitor.ts";
import { defaultOverloadOptions, type OverloadOptions } from "../../../src/db/overload/overload-options.ts";
import { PrimaryGate } from "../../../src/db/overload/primary-gate.ts";
import { PrimaryShedError } from "../../../src/db/overload/primary-shed-error.ts";
import { RetryBudget } from "../../../src/db/overload/retry-budget.ts";
import { Session } from "../../../src/db/session.ts";
import type { Sticking } from "../../../src/db/sticking/sticking.ts";
import { createMetrics } from "../../../src/observability/index.ts";
import { failureOf } from "../../support/failure-of.ts";
import { SimClock } from "../../support/sim-clock.ts";

const fakeHost = (name: string, role: "primary" | "replica") =>
  ({ name, role, outstanding: 0, avoided: false, connections: { open: 0, idle: 0 } }) as unknown as Host;
const replicaState = (host: Host): ReplicaState => ({
  host,
  usable: true,
  reason: "",
  weight: 1,
  reached: undefined,
  lagBytes: 0,
  lagMs: 0,
});
const refused = (host: Host) => new NotConnectedError(host.name, "connect_failed", undefined);
const serverError = (code: string, severity = "ERROR") => Object.assign(new Error(code), { code, severity });
const certain: WritePlan = { kind: "write", idempotent: false, refusedWhole: true, undoneWhenLost: false, reading: false };

/** An executor over hosts that do nothing, on virtual time; the random number is always the greatest. */
function scene({ replicas = 0, stale = [] as string[], overload = undefined as Partial<OverloadOptions> | undefined } = {}) {
  const clock = new SimClock();
  const random: Random = { int: (below) => below - 1, float: () => 0.999, bytes: (count) => new Uint8Array(count) } as Random;
  const hosts = new HostList();
  const primary = fakeHost("p", "primary");
  const standbys = Array.from({ length: replicas }, (_, i) => fakeHost(`r${i}`, "replica"));
  const publish = (host: Host | undefined, out: readonly Host[] = []) =>
    hosts.publish({
      primary: host && { host, position: undefined },
      withoutPrimary: host ? "" : "no_primary",
      replicas: standbys.map((one) => ({ ...replicaState(one), usable: !out.includes(one) })),
    });
  publish(primary);
  const reported: string[] = [];
  const moves: Session[] = [];
  const registry = createMetrics();
  const metrics = defineDbMetrics(registry, hosts);
  const limits = { ...defaultOverloadOptions, ...overload, poolSize: 10, connectTimeoutMs: 2000 };
  const gate = new PrimaryGate(limits, { clock, random, metrics: registry, shed: metrics.shed, strained: () => false });
  const executor = new Executor(defaultExecutorOptions, {
    hosts,
    clock,
    random,
    gate: overload && gate,
    retries: new RetryBudget(limits, { clock }),
    metrics,
    monitor: { reportFailure: (host: Host) => void reported.push(host.name) } as unknown as HostMonitor,
    sticking: {
      serves: (_session: Session, { host }: ReplicaState) => !stale.includes(host.name),
      moveOn: async (session: Session) => {
        moves.push(session);
        session.pinned = undefined;
      },
    } as unknown as Sticking,
  });
  const asked: string[] = [];
  /** Fails as it is told, once per entry, then succeeds. */
  const script = (...failures: (((host: Host) => unknown) | undefined)[]) => {
    let i = 0;
    return async (host: Host) => {
      asked.push(host.name);
      const failure = failures[i++];
      if (failure) throw failure(host);
      return host.name;
    };
  };
  const read = (
    attempt: (host: Host) => Promise<string>,
    session = new Session(),
    more: { followsWrites?: boolean; maxStalenessMs?: number; onMisroute?: () => void } = {},
  ) =>
    executor.read(
      { session, followsWrites: true, repeatable: true, maxStalenessMs: undefined, onMisroute: () => {}, ...more },
      attempt,
      neverAborted,
    );
  const write = (attempt: (host: Host) => Promise<string>, plan: Partial<WritePlan> = {}) =>
    executor.write({ ...certain, ...plan }, attempt, neverAborted);
  return { clock, hosts, primary, standbys, publish, reported, moves, asked, script, read, write, executor, registry };
}

describe("a write", () => {
  test("that was never sent is tried again, at once and then after 2, 4 and 8 seconds at most", async () => {
    const { clock, script, write, asked, reported } = scene();
    const attempt = script(refused, refused, refused, refused);
    expect(await clock.until(write(attempt))).toBe("p");
    expect(asked).toHaveLength(5);
    expect(clock.monotonic()).toBeGreaterThan(13_900);
    expect(clock.monotonic()).toBeLessThan(14_100);
    expect(new Set(reported)).toEqual(new Set(["p"]));
  });

  test("gives up without a wait after its last attempt", async () => {
    const { clock, script, write, asked } = scene();
    const failure = await clock.until(failureOf(write(script(...Array.from({ length: 9 }, () => refused)))));
    expect(failure.code).toBe("database_unavailable");
    expect(asked).toHaveLength(5);
    expect(clock.monotonic()).toBeLessThan(14_100);
  });

  // Cases 40, 41
  test.each(["08006", "57P01", "57P02"])("whose connection is lost (%s) is not tried again: its outcome is unknown", async (code) => {
    const { clock, script, write, asked } = scene();
    expect((await clock.until(failureOf(write(script(() => serverError(code, "FATAL")))))).code).toBe("outcome_unknown");
    expect(asked).toEqual(["p"]);
  });

  test("whose connection is lost is tried again where doing it twice does no harm", async () => {
    const { clock, script, write, asked } = scene();
    const lost = () => serverError("57P01", "FATAL");
    expect(await clock.until(write(script(lost, lost), { idempotent: true }))).toBe("p");
    expect(asked).toHaveLength(3);
    const always = scene();
    const failure = await always.clock.until(failureOf(always.write(always.script(...Array(9).fill(lost)), { idempotent: true })));
    expect(failure.code).toBe("outcome_unknown");
  });

  test.each([
    ["cannot connect", refused],
    ["finds no room", (host: Host) => new NotConnectedError(host.name, "overload", undefined)],
    ["is refused", () => serverError("23505")],
    ["is cancelled", () => serverError("57014")],
  ])("that was lost once is not said to be undone when it later %s", async (_what, later) => {
    const { clock, script, write } = scene();
    const attempt = script(() => serverError("57P01", "FATAL"), later, later, later, later);
    const failure = await clock.until(failureOf(write(attempt, { idempotent: true })));
    expect(failure).toMatchObject({ code: "outcome_unknown", cause: later({ name: "p" } as Host) });
  });

  test("whose server says nothing any more has no known outcome; one that reads has failed", async () => {
    const silence = () => new Error("Query read timeout");
    const { clock, script, write, read, reported } = scene({ replicas: 1 });
    expect(await clock.until(failureOf(write(script(silence))))).toMatchObject({ code: "outcome_unknown" });
    expect(reported).toEqual(["p"]);
    expect(await clock.until(failureOf(read(script(silence))))).toMatchObject({ code: "database_unavailable" });
    expect(reported).toEqual(["p", "r0"]);
  });

  test("that a server undoes with its connection is known not to have happened", async () => {
    const { clock, script, write } = scene();
    const attempt = script(() => serverError("57P01", "FATAL"));
    expect((await clock.until(failureOf(write(attempt, { undoneWhenLost: true })))).code).toBe("database_unavailable");
  });

  test("goes to a new primary as soon as there is one", async () => {
    const { clock, script, write, asked, publish } = scene();
    const next = fakeHost("p2", "primary");
    const attempt = script(
      () => serverError("25006"),
      () => serverError("25006"),
    );
    const writing = write(attempt);
    await clock.advance(500);
    expect(asked).toEqual(["p", "p"]);
    publish(undefined);
    await clock.advance(100);
    publish(next);
    expect(await clock.until(writing)).toBe("p2");
    expect(clock.monotonic()).toBe(600);
  });

  test("waits for a primary where there is none, until its deadline", async () => {
    const { clock, script, write, asked, publish, primary } = scene();
    publish(undefined);
    expect(await clock.until(failureOf(write(script())))).toMatchObject({ code: "database_unavailable", fields: { reason: "no_primary" } });
    expect(asked).toEqual([]);
    const writing = write(script());
    await clock.advance(50);
    publish(primary);
    expect(await clock.until(writing)).toBe("p");
  });

  test("that a demoted server refuses in the middle is not repeated where a part may have happened", async () => {
    const { clock, script, write, asked } = scene();
    await expect(
      clock.until(
        write(
          script(() => serverError("25006")),
          { refusedWhole: false },
        ),
      ),
    ).rejects.toMatchObject({ code: "25006" });
    expect(asked).toHaveLength(1);
  });

  test.each(["23505", "42601", "40001", "57014", "28P01"])("keeps the server's error %s, without another attempt", async (code) => {
    const { clock, script, write, asked } = scene();
    await expect(clock.until(write(script(() => serverError(code))))).rejects.toMatchObject({ code });
    expect(asked).toHaveLength(1);
  });

  test("ends its wait when it is told to", async () => {
    const { clock, script, hosts } = scene();
    const controller = new AbortController();
    const executor = new Executor(defaultExecutorOptions, {
      ...({ hosts, clock, monitor: { reportFailure: () => {} }, sticking: {} } as unknown as ConstructorParameters<typeof Executor>[1]),
      random: { float: () => 0.999 } as Random,
      retries: new RetryBudget(defaultOverloadOptions, { clock }),
      metrics: defineDbMetrics(createMetrics(), hosts),
    });
    const writing = failureOf(executor.write(certain, script(refused, refused, refused), controller.signal));
    await clock.advance(1000);
    controller.abort(new CodedError("cancelled", "enough"));
    expect((await clock.until(writing)).code).toBe("cancelled");
    expect(clock.pending).toBe(0);
  });
});

describe("a read", () => {
  test("goes to the next replica, and to the primary when all have failed, without any wait", async () => {
    const { clock, script, read, asked, reported } = scene({ replicas: 3 });
    expect(await clock.until(read(script(refused, refused, refused)))).toBe("p");
    expect(new Set(asked.slice(0, 3))).toEqual(new Set(["r0", "r1", "r2"]));
    expect(reported).toHaveLength(3);
    expect(clock.monotonic()).toBe(0);
  });

  // B135
  test("that recovery cancels again and again is tried three times per replica, then on the primary", async () => {
    const { clock, script, read, asked } = scene({ replicas: 2 });
    const conflict = () => serverError("40001");
    expect(await clock.until(read(script(...Array(6).fill(conflict))))).toBe("p");
    expect(asked).toHaveLength(7);
    expect(asked.slice(0, 6).filter((name) => name === "r0")).toHaveLength(3);
    expect(clock.monotonic()).toBe(0);
  });

  // Case 34
  test("that a replica refuses as a write runs once on the primary, as a write: it is not repeated", async () => {
    const { clock, script, read, asked, reported } = scene({ replicas: 2 });
    const misroutes: string[] = [];
    const attempt = script(
      () => serverError("25006"),
      () => serverError("57P01", "FATAL"),
    );
    const failure = await clock.until(failureOf(read(attempt, new Session(), { onMisroute: () => void misroutes.push("once") })));
    expect(failure.code).toBe("outcome_unknown");
    expect(asked).toHaveLength(2);
    expect(misroutes).toEqual(["once"]);
    expect(reported).toEqual([]);
  });

  // B134
  test("whose connection is lost goes to another replica, where there is one, unless its session must stay", async () => {
    const lost = () => serverError("57P01", "FATAL");
    const { clock, script, read, asked, reported } = scene({ replicas: 2 });
    await clock.until(read(script(lost)));
    expect(new Set(asked)).toEqual(new Set(["r0", "r1"]));
    const pinned = scene({ replicas: 2 });
    const session = new Session();
    session.pinned = pinned.standbys[0];
    await pinned.clock.until(pinned.read(pinned.script(lost), session));
    expect(pinned.asked).toEqual(["r0", "r0"]);
    expect([...reported, ...pinned.reported, ...pinned.moves]).toEqual([]);
  });

  test("whose idle connection had died is repeated on the same replica, a second loss takes the replica out", async () => {
    const { clock, script, read, asked, reported } = scene({ replicas: 1 });
    const lost = () => serverError("57P01", "FATAL");
    expect(await clock.until(read(script(lost)))).toBe("r0");
    expect(reported).toEqual([]);
    expect(await clock.until(read(script(lost, lost)))).toBe("p");
    expect(reported).toEqual(["r0"]);
    expect(asked).toEqual(["r0", "r0", "r0", "r0", "p"]);
  });

  test("on the primary is patient for a moment only", async () => {
    const { clock, script, read } = scene();
    const failure = await clock.until(failureOf(read(script(...Array(9).fill(refused)))));
    expect(failure.code).toBe("database_unavailable");
    expect(clock.monotonic()).toBeLessThan(400);
  });

  test("leaves out replicas that do not have what its session must see, unless it does not follow writes", async () => {
    const { clock, script, read } = scene({ replicas: 2, stale: ["r0", "r1"] });
    expect(await clock.until(read(script()))).toBe("p");
    expect(await clock.until(read(script(), new Session(), { followsWrites: false }))).toMatch(/r[01]/);
  });

  test("stays on its session's replica, and moves on with care when that one fails or is out", async () => {
    const { clock, script, read, moves, standbys, publish, primary } = scene({ replicas: 2 });
    const session = new Session();
    const first = await clock.until(read(script(), session));
    for (let i = 0; i < 5; i++) expect(await clock.until(read(script(), session))).toBe(first);
    expect(moves).toEqual([]);
    const second = await clock.until(read(script(refused), session));
    expect([first, second].sort()).toEqual(["r0", "r1"]);
    expect(moves).toHaveLength(1);
    publish(
      primary,
      standbys.filter(({ name }) => name === second),
    );
    expect(await clock.until(read(script(), session))).toBe(first);
    expect(moves).toHaveLength(2);
  });

  test("that fell back to the primary does not return to a replica that may be older", async () => {
    const { clock, script, read, moves, publish, primary, standbys } = scene({ replicas: 1 });
    const session = new Session();
    publish(primary, standbys);
    expect(await clock.until(read(script(), session))).toBe("p");
    publish(primary);
    await clock.until(read(script(), session));
    expect(moves).toHaveLength(1);
  });
});

describe("on a day without replicas", () => {
  test("a fifth of the reads reach the primary, the rest are told when to come again; writes all do (case 50)", async () => {
    const { clock, script, read, write, publish, standbys, primary, registry } = scene({ replicas: 3, overload: {} });
    publish(primary, standbys);
    const outcomes = new Map<string, number>();
    const count = (name: string) => outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    const work: Promise<unknown>[] = [];
    for (let i = 0; i < 2000; i++) {
      const reading = read(script());
      work.push(
        reading.then(
          () => count("read"),
          (error) => count(error instanceof PrimaryShedError && (error.retryAfterMs ?? 0) > 0 ? "shed" : "error"),
        ),
      );
      if (i % 10 === 0) work.push(write(script()).then(() => count("write")));
      await clock.advance(5);
    }
    await clock.advance(1000);
    await Promise.all(work);
    expect(outcomes.get("write")).toBe(200);
    expect(outcomes.get("error")).toBeUndefined();
    expect(outcomes.get("read")).toBeGreaterThan(350);
    expect(outcomes.get("read")).toBeLessThanOrEqual(2000 * 0.2 + 60);
    expect(await registry.expose()).toContain(`dblb_shed_total{reason="rate"} ${outcomes.get("shed")}`);
  });

  test("reads of sessions that wrote do not count against those that fall back", async () => {
    const { script, executor, read, publish, standbys, primary } = scene({
      replicas: 1,
      overload: { fallbackMaxPerSecond: 0, fallbackBurst: 1 },
    });
    publish(primary, standbys);
    expect(await read(script())).toBe("p");
    const sticky = () => executor.readPrimary({ session: new Session(), repeatable: true }, script(), "sticky", neverAborted);
    expect(await Promise.all(Array.from({ length: 50 }, sticky))).toHaveLength(50);
  });

  test("a replica that lags a little is better than the primary, where the caller allows it, and than nothing newer", async () => {
    const { clock, script, read, hosts, primary, standbys, registry } = scene({
      replicas: 3,
      overload: { fallbackMaxPerSecond: 0, fallbackBurst: 0 },
    });
    const lags = [{ lagMs: 9000 }, { lagMs: 4000 }, { lagMs: undefined }];
    const replicas = standbys.map((host, i) => ({
      ...replicaState(host),
      ...lags[i],
      lagMs: lags[i]?.lagMs,
      usable: false,
      reason: "lag",
    }));
    hosts.publish({ primary: { host: primary, position: undefined }, withoutPrimary: "", replicas });
    expect(await read(script(), undefined, { maxStalenessMs: 10_000 })).toBe("r1");
    expect(await read(script(refused), undefined, { maxStalenessMs: 10_000 })).toBe("r0");
    expect(await registry.expose()).toContain('dblb_reads_total{target="replica",reason="stale"} 2');
    const session = new Session();
    session.stuck = true;
    for (const maxStalenessMs of [3000, undefined]) {
      const more = maxStalenessMs === undefined ? {} : { maxStalenessMs };
      expect(await clock.until(failureOf(read(script(), undefined, more)))).toMatchObject({ reason: "rate" });
    }
    expect(await read(script(), session, { maxStalenessMs: 10_000 })).toBe("p");
  });

  test("failures are not tried again without end: beyond the budget the first one is the answer", async () => {
    const { script, read, asked, registry } = scene({ replicas: 2, overload: { minRetries: 3, retryShare: 0 } });
    for (let i = 0; i < 3; i++) await read(script(() => serverError("40001")));
    const before = asked.length;
    await expect(read(script(() => serverError("40001")))).rejects.toMatchObject({ code: "40001" });
    expect(asked).toHaveLength(before + 1);
    expect(await registry.expose()).toContain('dblb_shed_total{reason="retry"} 1');
  });
});
