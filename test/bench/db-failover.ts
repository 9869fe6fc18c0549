import { AsyncLocalStorage } from "node:async_hooks";
import type { LoadBalancer } from "../../src/db/index.ts";
import { type Metrics, noMetrics } from "../../src/observability/index.ts";
import type { PostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";
import { benchId, pointRead } from "./db-load.ts";
import type { Figure } from "./figures.ts";

/** A read while it runs. */
interface Read {
  /** It has had a failure, which only replicas that are killed give. */
  failed: boolean;
}

const current = new AsyncLocalStorage<Read>();

/** Metrics that note on the read that runs when one of its tries fails. */
export const failureMetrics: Metrics = {
  ...noMetrics,
  counter: (name) => ({
    add: () => {
      const read = current.getStore();
      if (read && name === "dblb_errors_total") read.failed = true;
    },
  }),
};

/**
 * Kills one replica after the other under load. A read that met it is one that had at least one failed try; a normal one runs before,
 * at the same load. No read may fail.
 */
export async function benchFailover(
  options: { kills: number; concurrency: number; ms: number },
  cluster: PostgresCluster,
  lb: LoadBalancer,
): Promise<Figure[]> {
  const allUsable = () => lb.status.filter(({ role, usable }) => role === "replica" && usable).length === cluster.replicas.length;
  const normal: number[] = [];
  const met: number[] = [];
  const timesOf = { normal, met };
  let n = 0;
  // The first round warms up.
  for (let round = 0; round <= options.kills; round++) {
    const victim = cluster.replicas[round % cluster.replicas.length] as PostgresCluster["primary"];
    await until("all replicas are used", allUsable, 60_000);
    let phase: "calm" | "kill" | "over" = "calm";
    const one = async () => {
      const read: Read = { failed: false };
      const during = phase;
      const startMs = performance.now();
      await current.run(read, () => lb.query(pointRead, [benchId(++n)]));
      const tookMs = performance.now() - startMs;
      if (round === 0) return;
      if (read.failed) timesOf.met.push(tookMs);
      else if (during === "calm" && phase === "calm") timesOf.normal.push(tookMs);
    };
    const callers = Array.from({ length: options.concurrency }, async () => {
      while (phase !== "over") await one();
    });
    await pause(options.ms);
    phase = "kill";
    await victim.stop();
    await pause(options.ms);
    phase = "over";
    await Promise.all(callers);
    await victim.start();
  }
  const ours = p99(met);
  const peer = p99(normal);
  return [
    { name: `p99 of ${met.length} reads that met a kill`, unit: "ms", ours, peer, peerName: "any read", ratio: ours / peer, aim: "<= 2" },
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function p99(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}
