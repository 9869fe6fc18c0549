import { AsyncLocalStorage } from "node:async_hooks";
import type { LoadBalancer } from "../../src/db/index.ts";
import { type Metrics, noMetrics } from "../../src/observability/index.ts";
import { until } from "../support/until.ts";
import { benchId, pointRead } from "./db-load.ts";
import type { Figure } from "./figures.ts";

/** A read while it runs. */
interface Read {
  readonly startMs: number;
  /** When its first try failed; only replicas that are killed make one fail. */
  failedMs: number | undefined;
  endMs: number;
}

const current = new AsyncLocalStorage<Read>();

/** Metrics that note on the read that runs when its first try fails. */
export const failureMetrics: Metrics = {
  ...noMetrics,
  counter: (name) => ({
    add: () => {
      const read = current.getStore();
      if (read && name === "dblb_errors_total") read.failedMs ??= performance.now();
    },
  }),
};

/** A replica that can be lost and come back. */
export interface Losable {
  lose(): Promise<void>;
  recover(): Promise<void>;
}

/**
 * Loses one replica after the other under load. A read that met it is one that had at least one failed try; a normal one runs before,
 * at the same load. Those beside it ran between the loss and the last failed try, on servers that lived. No read may fail.
 */
export async function benchFailover(
  name: string,
  options: { losses: number; concurrency: number; ms: number },
  replicas: readonly Losable[],
  lb: LoadBalancer,
): Promise<Figure[]> {
  const allUsable = () => lb.status.filter(({ role, usable }) => role === "replica" && usable).length === replicas.length;
  const normal: number[] = [];
  const met: number[] = [];
  const afterFailure: number[] = [];
  const beside: number[] = [];
  let n = 0;
  // The first round warms up.
  for (let round = 0; round <= options.losses; round++) {
    const victim = replicas[round % replicas.length] as Losable;
    await until("all replicas are used", allUsable, 60_000);
    const reads: Read[] = [];
    let over = false;
    const one = async () => {
      const read: Read = { startMs: performance.now(), failedMs: undefined, endMs: 0 };
      await current.run(read, () => lb.query(pointRead, [benchId(++n)]));
      read.endMs = performance.now();
      reads.push(read);
    };
    const callers = Array.from({ length: options.concurrency }, async () => {
      while (!over) await one();
    });
    await pause(options.ms);
    const lostMs = performance.now();
    await victim.lose();
    await pause(options.ms);
    over = true;
    await Promise.all(callers);
    await victim.recover();
    if (round === 0) continue;
    const lastFailureMs = Math.max(lostMs, ...reads.map(({ failedMs }) => failedMs ?? 0));
    for (const { startMs, failedMs, endMs } of reads) {
      if (failedMs !== undefined) {
        met.push(endMs - startMs);
        afterFailure.push(endMs - failedMs);
      } else if (endMs < lostMs) normal.push(endMs - startMs);
      else if (startMs < lastFailureMs) beside.push(endMs - startMs);
    }
  }
  const peer = p99(normal);
  const figure = (name: string, values: readonly number[], aim: string): Figure => {
    const ours = p99(values);
    return { name, unit: "ms", ours, peer, peerName: "any read before", ratio: ours / peer, aim };
  };
  return [
    figure(`p99 of ${met.length} reads that met ${name}`, met, "<= 2"),
    figure("  of these, since their failure", afterFailure, "none"),
    figure("  reads beside them that met none", beside, "none"),
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function p99(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}
