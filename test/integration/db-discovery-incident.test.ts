import { join } from "node:path";
import type { Answer } from "dns-packet";
import { expect, test } from "vitest";
import { type CodedError, systemRandom } from "../../src/base/index.ts";
import { DnsSource, defaultDnsSourceOptions } from "../../src/db/discovery/dns/dns-source.ts";
import { createLoadBalancer, type DiscoverySource, type LoadBalancer } from "../../src/db/index.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { DrivenClock } from "../support/driven-clock.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";

// Slow enough for servers to say at start what they are, and fast enough for ten minutes to pass.
const slowMs = 10;
const fastMs = 300;
const minuteMs = 60_000;
const fallbackBurst = 20;

/** What one process has seen. */
interface Counts {
  replica: number;
  primary: number;
  written: number;
  readonly errors: string[];
  /** When its lookups began, one list per life. */
  readonly lookups: number[][];
}

/** A process of a service: it reads and writes without pause, and can be restarted. */
class Process {
  readonly counts: Counts = { replica: 0, primary: 0, written: 0, errors: [], lookups: [] };
  readonly #id: number;
  readonly #start: (counts: Counts) => Promise<LoadBalancer>;
  #balancer: LoadBalancer | undefined;
  #stopped = false;
  #working: readonly Promise<void>[] = [];

  constructor(id: number, start: (counts: Counts) => Promise<LoadBalancer>) {
    this.#id = id;
    this.#start = start;
  }

  get balancer(): LoadBalancer {
    return this.#balancer as LoadBalancer;
  }

  async start(): Promise<void> {
    this.#stopped = false;
    const balancer = await this.#start(this.counts);
    this.#balancer = balancer;
    this.#working = [this.#read(balancer), this.#write(balancer)];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#working);
    await this.#balancer?.close();
  }

  async #read(balancer: LoadBalancer): Promise<void> {
    while (!this.#stopped) {
      await this.#try(async () => {
        const { rows } = await balancer.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
        this.counts[rows[0]?.standby ? "replica" : "primary"]++;
      });
    }
  }

  async #write(balancer: LoadBalancer): Promise<void> {
    while (!this.#stopped) {
      await this.#try(async () => {
        await balancer.query("INSERT INTO written VALUES ($1)", [this.#id]);
        this.counts.written++;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { code, fields } = error as Partial<CodedError>;
      this.counts.errors.push(`${code} ${fields?.["reason"]}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Each lookup is noted with the time at which it began. */
function noting(source: DiscoverySource, clock: DrivenClock, lookups: number[]): DiscoverySource {
  return {
    name: source.name,
    lookup: (signal) => {
      lookups.push(clock.monotonic());
      return source.lookup(signal);
    },
  };
}

async function startProcess(
  database: PostgresCluster,
  clock: DrivenClock,
  nameserverPort: number,
  snapshotFile: string | undefined,
  counts: Counts,
): Promise<LoadBalancer> {
  const lookups: number[] = [];
  counts.lookups.push(lookups);
  const dns = new DnsSource(
    { ...defaultDnsSourceOptions, nameserver: "127.0.0.1", port: nameserverPort, record: "replicas.test", recordType: "SRV" },
    { clock, random: systemRandom, serverPort: 5432 },
  );
  return await createLoadBalancer(
    {
      primary: database.primary.url,
      poolSize: 4,
      // A check may take a good while of a time that flies.
      replicaCheckIntervalMs: 30_000,
      probeTimeoutMs: 30_000,
      // By a clock that flies, few reads are made in a second.
      overload: { fallbackMinPerSecond: 0, fallbackBurst },
      discovery: { source: noting(dns, clock, lookups), ...(snapshotFile === undefined ? {} : { snapshotFile }) },
    },
    { clock },
  );
}

// Case 50
test("the nameserver is away for ten minutes while half of the processes restart: reads stay on replicas, writes are untouched, nobody asks in a frenzy", async () => {
  await using database = await startPostgresCluster({ replicas: 3 });
  await database.sql(database.primary, "CREATE TABLE written (process int)");
  await database.caughtUp();
  await using dir = await tempDir();
  const answers: Answer[] = database.replicas.map(({ port }) => ({
    type: "SRV",
    name: "replicas.test",
    ttl: 30,
    data: { target: "node.test", port },
  }));
  const good = () => ({ answers, additionals: [{ type: "A", name: "node.test", ttl: 30, data: "127.0.0.1" } satisfies Answer] });
  await using dns = await startDnsServer(good);
  await using clock = new DrivenClock();
  const process = (id: number, keeps: boolean) => {
    const snapshotFile = keeps ? join(dir.path, `hosts-${id}.json`) : undefined;
    return new Process(id, (counts) => startProcess(database, clock, dns.port, snapshotFile, counts));
  };
  const processes = [0, 1, 2, 3, 4, 5].map((id) => process(id, true));
  const stateless = process(6, false);
  const all = [...processes, stateless];
  let outage: readonly Counts[] = [];
  let beforeRestart: Counts = { ...stateless.counts };
  try {
    clock.stepMs = slowMs;
    await Promise.all(all.map((one) => one.start()));
    await clock.pass(2000);
    const usable = all.map(({ balancer }) => balancer.status.filter((host) => host.role === "replica" && host.usable).length);
    expect(usable).toEqual([3, 3, 3, 3, 3, 3, 3]);

    // Nobody answers; now and then somebody does, but knows nothing.
    let asked = 0;
    dns.reply = () => (asked++ % 5 === 0 ? { code: asked % 2 === 0 ? 2 : 3 } : undefined);
    const endMs = clock.monotonic() + 10 * minuteMs;
    for (const one of [stateless, processes[0], processes[2], processes[4]]) {
      clock.stepMs = fastMs;
      await clock.pass(2 * minuteMs);
      clock.stepMs = slowMs;
      await one?.stop();
      if (one === stateless) beforeRestart = { ...stateless.counts };
      await one?.start();
    }
    clock.stepMs = fastMs;
    await clock.pass(endMs - clock.monotonic());
    for (const { balancer } of processes) expect(balancer.discoveryAgeMs).toBeGreaterThan(9 * minuteMs);
    outage = all.map(({ counts }) => ({ ...counts, errors: [...counts.errors] }));

    dns.reply = good;
    await clock.pass(3 * minuteMs);
    for (const { balancer } of all) expect(balancer.discoveryAgeMs).toBeLessThan(3 * minuteMs);
    expect(stateless.counts.replica).toBeGreaterThan(outage.at(-1)?.replica as number);
  } finally {
    clock.stepMs = slowMs;
    for (const one of all) await one.stop();
  }

  for (const { errors, replica } of outage.slice(0, -1)) {
    expect(errors).toEqual([]);
    expect(replica).toBeGreaterThan(100);
  }
  // Who kept nothing finds no replica: what the primary has no room for is refused, in words that say so.
  const { errors, primary, replica } = outage.at(-1) as Counts;
  expect(replica).toBe(beforeRestart.replica);
  expect(errors.filter((error) => !/^database_unavailable (rate|slots|queue)$/.test(error))).toEqual([]);
  expect(errors.length).toBeGreaterThan(10);
  const tries = primary - beforeRestart.primary + errors.length;
  expect(primary - beforeRestart.primary).toBeLessThanOrEqual(fallbackBurst + 0.25 * tries);
  const sum = (pick: (counts: Counts) => number) => outage.reduce((total, counts) => total + pick(counts), 0);
  const onPrimary = sum(({ primary }) => primary);
  expect(onPrimary / (onPrimary + sum(({ replica }) => replica))).toBeLessThanOrEqual(0.2);
  expect(sum(({ written }) => written)).toBeGreaterThan(100);
  for (const lookups of outage.flatMap((counts) => counts.lookups)) {
    const gaps = lookups.slice(1).map((at, i) => at - (lookups[i] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
  }
  const rows = await database.sql(database.primary, "SELECT process, count(*)::int AS n FROM written GROUP BY process ORDER BY process");
  expect(rows).toEqual(all.map(({ counts }, process) => ({ process, n: counts.written })));
});
