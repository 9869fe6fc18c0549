import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageRoot } from "../../src/base/index.ts";
import type { createLoadBalancer as createLoadBalancerType } from "../../src/db/index.ts";
import { JsonAgent } from "../support/json-agent.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { benchClassify } from "./db-classify.ts";
import type { ContenderName, DbServers } from "./db-contender.ts";
import { benchFailover, failureMetrics, type Losable } from "./db-failover.ts";
import { benchTable, type Load, type LoadResult } from "./db-load.ts";
import { type Figure, median } from "./figures.ts";

export interface DbBenchOptions {
  /** Times that both contenders of a comparison are started anew. */
  readonly rounds: number;
  /** Samples of each, taken in turn, and how long one is. */
  readonly pairs: number;
  readonly sampleMs: number;
  /** Statements of each contender before the first sample. */
  readonly warmUp: number;
  readonly concurrencies: readonly number[];
  readonly writeShares: readonly number[];
  readonly classify: { readonly rounds: number; readonly texts: number };
  readonly failover: { readonly losses: number; readonly concurrency: number; readonly ms: number };
}

/** A comparison of two contenders. */
interface Comparison {
  readonly ours: ContenderName;
  readonly peer: ContenderName;
  readonly concurrency: number;
  readonly writeShare: number;
  readonly aim: string;
  /** For the processor time that a statement costs more than the peer's. */
  readonly cpuAim?: string;
}

/** Two samples, one after the other. */
interface Pair {
  readonly ours: LoadResult;
  readonly peer: LoadResult;
}

/** The load balancer beside bare pools and the AWS wrapper, on one primary and two replicas; classing texts; a replica that is killed. */
export async function* benchDb(options: DbBenchOptions, progress: (line: string) => void): AsyncGenerator<Figure> {
  const { href } = pathToFileURL(join(packageRoot, "dist", "src", "db", "index.js"));
  const { classify, createLoadBalancer } = (await import(href)) as typeof import("../../src/db/index.ts");
  progress("classing texts");
  yield* await benchClassify(options.classify, classify);
  progress("starting a primary and two replicas");
  await using cluster = await startPostgresCluster({ replicas: 2 });
  await cluster.sql(cluster.primary, benchTable);
  // Bare pools do not bear it that recovery cancels a read.
  for (const replica of cluster.replicas) {
    await cluster.sql(replica, "ALTER SYSTEM SET max_standby_streaming_delay = -1");
    await cluster.sql(replica, "SELECT pg_reload_conf()");
  }
  await cluster.caughtUp();
  yield* compareAll(comparisons(options), cluster, options, progress);
  yield* lossesOf(cluster, options, createLoadBalancer, progress);
}

/** Once with servers that die, whose many processes take the same processors while they end, and once with connections that do. */
async function* lossesOf(
  cluster: PostgresCluster,
  { failover }: DbBenchOptions,
  createLoadBalancer: typeof createLoadBalancerType,
  progress: (line: string) => void,
): AsyncGenerator<Figure> {
  // What was lost is back as soon as it can be.
  const checks = { replicaCheckIntervalMs: 200, slowStartMs: 1, outlierFactor: 0 };
  const metrics = failureMetrics;
  {
    progress("killing replicas");
    await using lb = await createLoadBalancer({ ...serversOf(cluster), ...checks }, { metrics });
    const killed = cluster.replicas.map((one): Losable => ({ lose: () => one.stop(), recover: () => one.start() }));
    yield* await benchFailover("a kill", failover, killed, lb);
  }
  progress("cutting replicas off");
  const [first, second] = cluster.replicas as [PostgresServer, PostgresServer];
  await using firstFront = await startTcpFront(first.port);
  await using secondFront = await startTcpFront(second.port);
  const fronts = [firstFront, secondFront];
  const replicas = fronts.map(({ port }) => `127.0.0.1:${port}`);
  await using lb = await createLoadBalancer({ ...serversOf(cluster), replicas, ...checks }, { metrics });
  const cutOff = fronts.map(
    (front): Losable => ({
      lose: async () => {
        front.refuse(Number.POSITIVE_INFINITY);
        front.cut();
      },
      recover: async () => front.refuse(0),
    }),
  );
  yield* await benchFailover("a cut", failover, cutOff, lb);
}

function comparisons({ concurrencies, writeShares }: DbBenchOptions): Comparison[] {
  const middle = concurrencies[concurrencies.length >> 1] as number;
  const ours = "load balancer";
  const all = writeShares.flatMap((writeShare) => concurrencies.map((concurrency) => ({ concurrency, writeShare })));
  return [
    ...all.map((load): Comparison => ({ ours, peer: "pg.Pool", ...load, aim: ">= 0.97", cpuAim: "<= 1 us" })),
    { ours: "load balancer, sessions", peer: "pg.Pool", concurrency: middle, writeShare: 0, aim: "none", cpuAim: "none" },
    ...all
      .filter(({ concurrency }) => concurrency === middle)
      .map((load): Comparison => ({ ours, peer: "aws wrapper", ...load, aim: ">= 2" })),
    ...writeShares.flatMap((writeShare): Comparison[] => {
      const load = { ours: "load balancer, prepared" as const, concurrency: middle, writeShare };
      return [
        { ...load, peer: "pg.Pool, prepared", aim: ">= 0.97", cpuAim: "<= 1 us" },
        { ...load, peer: "aws wrapper", aim: ">= 2" },
      ];
    }),
    { ours, peer: "aws wrapper, no pool", concurrency: middle, writeShare: 0, aim: "none" },
  ];
}

async function* compareAll(
  all: readonly Comparison[],
  cluster: PostgresCluster,
  options: DbBenchOptions,
  progress: (line: string) => void,
): AsyncGenerator<Figure> {
  for (const comparison of all) {
    const { concurrency, writeShare } = comparison;
    const load = { warmUp: 0, ms: options.sampleMs, concurrency, writeShare };
    progress(`${comparison.ours} beside ${comparison.peer}: ${concurrency} callers, ${writeShare * 100} % writes`);
    const pairs: Pair[] = [];
    // The same program is up to a tenth faster or slower in another process: one process each would measure that.
    for (let round = 0; round < options.rounds; round++) {
      const ours = startContender(comparison.ours, serversOf(cluster));
      const peer = startContender(comparison.peer, serversOf(cluster));
      try {
        await warmUp(ours, options);
        await warmUp(peer, options);
        pairs.push(...(await takePairs(ours, peer, load, options.pairs)));
      } finally {
        await Promise.all([ours.kill(), peer.kill()]);
      }
    }
    yield* figuresOf(comparison, pairs);
  }
}

/** Both kinds of statement at every load, so that nothing is compiled later. */
async function warmUp(agent: JsonAgent, options: DbBenchOptions): Promise<void> {
  for (const writeShare of options.writeShares) {
    await run(agent, { warmUp: options.warmUp, ms: 0, concurrency: Math.max(...options.concurrencies), writeShare });
  }
}

async function takePairs(ours: JsonAgent, peer: JsonAgent, load: Load, count: number): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let i = 0; i < count; i++) {
    const first = await run(i % 2 === 0 ? ours : peer, load);
    const second = await run(i % 2 === 0 ? peer : ours, load);
    pairs.push(i % 2 === 0 ? { ours: first, peer: second } : { ours: second, peer: first });
  }
  return pairs;
}

function figuresOf({ ours, peer: peerName, concurrency, writeShare, aim, cpuAim }: Comparison, pairs: readonly Pair[]): Figure[] {
  const load = `${concurrency} at once, ${writeShare * 100} % writes${ours.replace("load balancer", "")}`;
  const middle = (of: (pair: Pair) => number) => median(pairs.map(of));
  const speed = {
    ours: middle((pair) => pair.ours.perSecond),
    peer: middle((pair) => pair.peer.perSecond),
    ratio: middle((pair) => pair.ours.perSecond / pair.peer.perSecond),
  };
  const cpu = { ours: middle((pair) => pair.ours.cpuUs), peer: middle((pair) => pair.peer.cpuUs), ratio: undefined };
  const added = middle((pair) => pair.ours.cpuUs - pair.peer.cpuUs);
  return [
    { name: load, unit: "/s", ...speed, peerName, aim },
    { name: `  processor: ${added.toFixed(2)} us more`, unit: "us", ...cpu, peerName, aim: cpuAim ?? "none" },
  ];
}

function startContender(name: ContenderName, servers: DbServers): JsonAgent {
  const script = fileURLToPath(new URL("db-contender.main.ts", import.meta.url));
  return new JsonAgent(process.execPath, ["--import", import.meta.resolve("tsx"), script, name, JSON.stringify(servers)]);
}

function run(agent: JsonAgent, load: Load): Promise<LoadResult> {
  return agent.request<LoadResult>("run", { ...load });
}

function serversOf({ primary, replicas }: PostgresCluster): DbServers {
  return { primary: primary.url, replicas: replicas.map(({ url }) => url) };
}
