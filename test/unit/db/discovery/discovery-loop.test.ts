import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { DiscoveryLoop, type DiscoveryLoopOptions, defaultDiscoveryLoopOptions } from "../../../../src/db/discovery/discovery-loop.ts";
import type { SnapshotStore } from "../../../../src/db/discovery/snapshot-file.ts";
import type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "../../../../src/db/discovery/source.ts";
import { createMetrics, type LogFields, type Logger } from "../../../../src/observability/index.ts";
import { SimClock } from "../../../support/sim-clock.ts";
import { simRandom } from "../../../support/sim-random.ts";

const server = (host: string): DiscoveredServer => ({ host, port: 5432 });
const some = [server("a"), server("b"), server("c")];

/** "silence" ends with its signal, "deaf" never. */
type Reply = DiscoveryAnswer | Error | "silence" | "deaf";

interface Bench {
  readonly clock: SimClock;
  readonly loop: DiscoveryLoop;
  /** When lookups began. */
  readonly lookups: number[];
  readonly lines: { level: string; message: string; fields: LogFields }[];
  readonly metrics: ReturnType<typeof createMetrics>;
  /** The names in the newest list. */
  names(): string[];
  applied(): number;
  answer(reply: Reply): void;
  changed(): void;
}

/** A loop over a source that answers as it is told, on virtual time. */
async function withLoop(
  given: Partial<DiscoveryLoopOptions> & { first?: Reply; snapshot?: SnapshotStore; usable?: (key: string) => boolean; seed?: number },
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
  const { first = { servers: some }, snapshot, usable = () => true, seed = 1, ...options } = given;
  const clock = new SimClock();
  const lookups: number[] = [];
  const lines: Bench["lines"] = [];
  const metrics = createMetrics();
  let reply = first;
  let running = 0;
  let newest: readonly DiscoveredServer[] = [];
  let applied = 0;
  let onChange = () => {};
  const source: DiscoverySource = {
    name: "test",
    lookup: async (signal) => {
      lookups.push(clock.monotonic());
      if (++running > 1) throw new Error("two lookups at once");
      try {
        if (reply === "deaf") {
          running = 0;
          return await new Promise<never>(() => {});
        }
        if (reply === "silence") return await clock.sleep(1e9, signal).then(() => ({ servers: [] }));
        if (reply instanceof Error) throw reply;
        return reply;
      } finally {
        running--;
      }
    },
    watch: (changed, signal) => {
      onChange = changed;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
  };
  const loop = new DiscoveryLoop(
    { ...defaultDiscoveryLoopOptions, ...options },
    {
      source,
      apply: (servers) => {
        newest = servers;
        applied++;
      },
      isUsable: usable,
      snapshot,
      clock,
      random: simRandom(seed),
      logger: recordingLogger(lines),
      metrics,
    },
  );
  try {
    await clock.advance(0);
    await body({
      clock,
      loop,
      lookups,
      lines,
      metrics,
      names: () => newest.map(({ host }) => host),
      applied: () => applied,
      answer: (next) => {
        reply = next;
      },
      changed: () => onChange(),
    });
  } finally {
    const asked = lookups.length;
    await loop[Symbol.asyncDispose]();
    // Who closes does not ask once more.
    expect(lookups.length).toBe(asked);
  }
  expect(clock.pending).toBe(0);
}

function recordingLogger(lines: Bench["lines"]): Logger {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child: () => logger };
  return logger;
}

const failures: Record<string, Reply> = {
  "an empty answer": { servers: [] },
  "no such name": new CodedError("not_found", "no such name"),
  "an error": new Error("refused"),
  silence: "silence",
  "names that cannot be": { servers: [server("a b"), server("")] },
};

test.each(Object.entries(failures))("%s, however often, removes nobody; the age grows (case 43, B130)", async (_name, reply) => {
  await withLoop({}, async ({ clock, loop, names, answer, metrics, lookups }) => {
    await loop.ready;
    answer(reply);
    await clock.advance(10 * 60_000);
    expect(lookups.length).toBeGreaterThan(10);
    expect(names()).toEqual(["a", "b", "c"]);
    expect(loop.ageMs).toBe(10 * 60_000);
    expect(await metrics.expose()).toContain('dblb_discovery_age_seconds{source="test"} 600');
    answer({ servers: some });
    await clock.advance(60_000);
    expect(loop.ageMs).toBeLessThan(60_000);
  });
});

test("a server goes with the second answer that lacks it, and comes with the first that names it", async () => {
  await withLoop({}, async ({ clock, names, answer }) => {
    answer({ servers: [server("a"), server("d")] });
    await clock.advance(70_000);
    expect(names()).toEqual(["a", "d", "b", "c"]);
    await clock.advance(70_000);
    expect(names()).toEqual(["a", "d"]);
  });
});

// Case 46
test.each([
  ["5 s: the interval is waited for", 5000, 60_000, 70_000],
  ["90 s: it is waited for", 90_000, 90_000, 100_000],
  ["none: the interval is waited for", undefined, 60_000, 70_000],
])("the next lookup after an answer with a TTL of %s", async (_what, ttlMs, leastMs, mostMs) => {
  for (let seed = 1; seed <= 5; seed++) {
    await withLoop({ first: { servers: some, ...(ttlMs === undefined ? {} : { ttlMs }) }, seed }, async ({ clock, lookups }) => {
      await clock.advance(1_000_000);
      const gaps = lookups.slice(1).map((at, i) => at - (lookups[i] as number));
      expect(gaps.length).toBeGreaterThan(8);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(leastMs);
      expect(Math.max(...gaps)).toBeLessThan(mostMs);
    });
  }
});

test("failures between two answers count for nothing", async () => {
  await withLoop({}, async ({ clock, names, answer }) => {
    answer({ servers: [server("a")] });
    await clock.advance(70_000);
    answer({ servers: [] });
    await clock.advance(600_000);
    expect(names()).toEqual(["a", "b", "c"]);
    answer({ servers: [server("a")] });
    await clock.advance(70_000);
    expect(names()).toEqual(["a"]);
  });
});

test("without an answer at start the kept list is used, with its age; without that the seeds (case 44)", async () => {
  const snapshot: SnapshotStore = { load: async () => ({ servers: some, ageMs: 5000 }), save: async () => {} };
  await withLoop({ first: new Error("refused"), snapshot, seedHosts: [server("seed")] }, async ({ loop, names }) => {
    await loop.ready;
    expect(names()).toEqual(["a", "b", "c"]);
    expect(loop.ageMs).toBe(5000);
  });
  const broken: SnapshotStore = { load: () => Promise.reject(new Error("disk")), save: () => Promise.reject(new Error("disk")) };
  await withLoop({ first: new Error("refused"), snapshot: broken, seedHosts: [server("seed")] }, async ({ loop, names, answer, clock }) => {
    await loop.ready;
    expect(names()).toEqual(["seed"]);
    answer({ servers: some });
    await clock.advance(5000);
    expect(names()).toEqual(["a", "b", "c", "seed"]);
  });
  await withLoop({ first: new Error("refused") }, async ({ loop, names }) => {
    await loop.ready;
    expect(names()).toEqual([]);
  });
});

test("a fresh answer is preferred to the kept list, and is kept", async () => {
  const saved: (readonly DiscoveredServer[])[] = [];
  const snapshot: SnapshotStore = {
    load: async () => ({ servers: [server("old")], ageMs: 1 }),
    save: async (servers) => void saved.push(servers),
  };
  await withLoop({ snapshot }, async ({ names }) => {
    expect(names()).toEqual(["a", "b", "c"]);
    expect(saved).toEqual([some]);
  });
});

test("the list is kept when it changes, and once a minute; what could not be kept is tried again", async () => {
  let saves = 0;
  let broken = false;
  const save = async () => {
    saves++;
    if (broken) throw new Error("disk full");
  };
  await withLoop({ snapshot: { load: async () => undefined, save }, intervalMs: 5000 }, async ({ clock, answer, names, lines }) => {
    await clock.advance(50_000);
    expect(saves).toBe(1);
    await clock.advance(20_000);
    expect(saves).toBe(2);
    broken = true;
    answer({ servers: [...some, server("d")] });
    await clock.advance(20_000);
    expect(saves).toBeGreaterThan(4);
    expect(names()).toContain("d");
    expect(lines.some(({ level, fields }) => level === "warn" && fields["event"] === "host_list_snapshot")).toBe(true);
  });
});

test("a source that is silent at start holds it up for two seconds at most", async () => {
  await withLoop({ first: "silence", seedHosts: [server("seed")] }, async ({ clock, loop, names }) => {
    let ready = false;
    void loop.ready.then(() => {
      ready = true;
    });
    await clock.advance(1999);
    expect(ready).toBe(false);
    await clock.advance(1);
    expect(ready).toBe(true);
    expect(names()).toEqual(["seed"]);
  });
});

test("lookups begin at least a second apart, whatever happens and whoever asks for them", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    await withLoop({ first: new Error("refused"), seed }, async ({ clock, loop, lookups, changed }) => {
      for (let i = 0; i < 100; i++) {
        changed();
        loop.refreshSoon();
        await clock.advance(100);
      }
      await clock.advance(600_000);
      const gaps = lookups.slice(1).map((at, i) => at - (lookups[i] as number));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
      expect(lookups.length).toBeGreaterThan(15);
    });
  }
});

test("a server that cannot be reached brings the next lookup forward, at most every five seconds", async () => {
  await withLoop({}, async ({ clock, loop, lookups }) => {
    for (let i = 0; i < 100; i++) {
      loop.refreshSoon();
      await clock.advance(100);
    }
    expect(lookups.length).toBeGreaterThanOrEqual(3);
    expect(lookups.length).toBeLessThanOrEqual(4);
  });
});

test("clients in trouble do not make a failing source be asked more often", async () => {
  const count = async (eager: boolean) => {
    let asked = 0;
    await withLoop({ first: new Error("refused") }, async ({ clock, loop, lookups }) => {
      for (let i = 0; i < 600; i++) {
        if (eager) loop.refreshSoon();
        await clock.advance(1000);
      }
      asked = lookups.length;
    });
    return asked;
  };
  expect(await count(true)).toBe(await count(false));
});

test("news from the source is looked up at once", async () => {
  await withLoop({}, async ({ clock, names, answer, changed }) => {
    await clock.advance(5000);
    answer({ servers: [...some, server("d")] });
    changed();
    await clock.advance(0);
    expect(names()).toContain("d");
  });
});

test("failure is told once, alarm raised after three intervals, once, and recovery told", async () => {
  await withLoop({}, async ({ clock, lines, answer }) => {
    answer(new Error("refused"));
    await clock.advance(600_000);
    const told = () => lines.filter(({ level }) => level === "warn" || level === "error");
    expect(told()).toMatchObject([
      { level: "warn", fields: { event: "service_discovery_failure", result: "failed", servers: 3 } },
      { level: "error", fields: { event: "service_discovery_failure" } },
    ]);
    expect(told()[1]?.fields["ageMs"]).toBeGreaterThanOrEqual(180_000);
    answer({ servers: some });
    await clock.advance(60_000);
    expect(lines.at(-1)).toMatchObject({ level: "info", message: "discovery answers again" });
  });
});

test("while lookups fail, a list is stale once it is older than it may be, and one that is merely old is not", async () => {
  await withLoop({ maxAgeMs: 90_000 }, async ({ clock, loop, lines, answer }) => {
    answer({ servers: some, ttlMs: 600_000 });
    await clock.advance(500_000);
    expect([loop.ageMs >= 90_000, loop.stale]).toEqual([true, false]);
    answer(new Error("refused"));
    await clock.advance(500_000);
    expect(loop.stale).toBe(true);
    expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
    answer({ servers: some });
    await clock.advance(70_000);
    expect(loop.stale).toBe(false);
  });
});

test("lookups are counted by their result", async () => {
  await withLoop({}, async ({ clock, answer, metrics }) => {
    for (const reply of [{ servers: [] }, new Error("x"), "silence"] as const) {
      answer(reply);
      await clock.advance(70_000);
      answer({ servers: some });
      await clock.advance(70_000);
    }
    const text = await metrics.expose();
    for (const result of ["ok", "empty", "failed", "timeout"]) {
      expect(text).toMatch(new RegExp(`dblb_discovery_lookups_total\\{source="test",result="${result}"\\} [1-9]`));
    }
  });
});

test("no more replicas are used than the limit, steadily, and those left out are named", async () => {
  const many = Array.from({ length: 10 }, (_, i) => server(`h${i}`));
  await withLoop({ first: { servers: many }, maxReplicaPools: 4 }, async ({ clock, names, lines }) => {
    const first = names();
    expect(first).toHaveLength(4);
    await clock.advance(300_000);
    expect(names()).toEqual(first);
    const [limit, ...again] = lines.filter(({ fields }) => fields["event"] === "host_list_limit_exceeded");
    expect(again).toEqual([]);
    const excluded = limit?.fields["excluded"] as string[];
    expect([...first.map((name) => `${name}:5432`), ...excluded].sort()).toEqual(many.map(({ host }) => `${host}:5432`).sort());
  });
});

test("a list without end is cut to 256", async () => {
  await withLoop({ first: { servers: Array.from({ length: 5000 }, (_, i) => server(`h${i}`)) } }, async ({ names }) => {
    expect(names()).toHaveLength(256);
  });
});

test("the last replica that answers stays although discovery has forgotten it", async () => {
  const usable = (key: string) => key === "a:5432";
  await withLoop({ usable }, async ({ clock, names, answer }) => {
    answer({ servers: [server("new")] });
    await clock.advance(300_000);
    expect(names()).toEqual(["new", "a"]);
  });
});

test("a lookup that does not end keeps others from starting, for five minutes", async () => {
  await withLoop({}, async ({ clock, names, answer, lookups, lines }) => {
    answer("deaf");
    await clock.advance(290_000);
    expect(lookups).toHaveLength(2);
    expect(names()).toEqual(["a", "b", "c"]);
    await clock.advance(200_000);
    expect(lookups).toHaveLength(3);
    expect(lines.filter(({ fields }) => fields["event"] === "service_discovery_refresh_thread_interrupt")).toHaveLength(1);
  });
});
