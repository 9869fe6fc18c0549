import { systemClock } from "../../src/base/index.ts";
import { createLoadBalancer, type DiscoveryOptions, type LoadBalancer } from "../../src/db/index.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { brokenPromises, type ClientHistory, longestGapMs } from "./client-history.ts";
import { ClientLoad, loadTables } from "./client-load.ts";
import { askOnce, type ManagedNode } from "./managed-node.ts";
import { until } from "./until.ts";
import { WritePoller } from "./write-poller.ts";

/** What clients lived through while something happened to the servers. */
export interface FailoverReport {
  /** Sentences about what must not be; empty where all is well. */
  readonly broken: readonly string[];
  readonly writes: number;
  readonly reads: number;
  /** The longest time in which no write of the clients was acknowledged, of the plain client, and in which no read was answered. */
  readonly writeOutageMs: number;
  readonly peerOutageMs: number;
  readonly readOutageMs: number;
  /** Of the longest read. */
  readonly slowestReadMs: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** Reads may pause for this long at most: a failed attempt and a small machine's hiccup, and nothing of the failover itself. */
export const readOutageLimitMs = 2000;

/** Writes may be away for a fifth longer than they were for the plain client, and a second for the small machine. */
export function writeOutageLimitMs({ peerOutageMs }: FailoverReport): number {
  return 1.2 * peerOutageMs + 1000;
}

/** Two load balancers, which share what sessions wrote as two processes with one Redis would, on servers with tables. */
export async function openClients(primary: ManagedNode, discovery: DiscoveryOptions): Promise<readonly LoadBalancer[] & AsyncDisposable> {
  await askOnce(primary.url, `${loadTables}; ${WritePoller.table}`);
  const store = new MemoryStickingStore({ expirationMs: 30_000 }, { clock: systemClock });
  // The machine is small, and runs all the servers and clients. Of a pair, each must be able to carry all the reads.
  const options = { probeTimeoutMs: 1000, overload: { fallbackShare: 1, fallbackSlotShare: 0.5 } };
  const open = () => createLoadBalancer({ primary: primary.url, discovery, sticking: { store }, ...options });
  const balancers = await Promise.all([open(), open()]);
  return Object.assign(balancers, {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(balancers.map((lb) => lb.destroy()));
    },
  });
}

/** Runs clients before, during and after `fault`, until `over` holds and they write again for a second; prints what came out. */
export async function runThrough(
  title: string,
  balancers: readonly LoadBalancer[],
  { nodes, settled }: { readonly nodes: readonly ManagedNode[]; settled(): Promise<void> },
  fault: () => void | Promise<void>,
  over: () => Promise<void>,
): Promise<FailoverReport> {
  await settled();
  await truncate(nodes);
  const load = new ClientLoad(balancers);
  const poller = new WritePoller(nodes.map(({ url }) => url));
  const acknowledged = () => acknowledgedMs(load.history);
  let fromMs = 0;
  let toMs = 0;
  try {
    await until("clients write", () => acknowledged().length > 20).catch((error) => {
      throw new Error(JSON.stringify([...load.failures]), { cause: error });
    });
    fromMs = performance.now();
    await fault();
    await over();
    const overMs = performance.now();
    await until("clients write again", () => acknowledged().filter((ms) => ms > overMs).length > 20, 60_000);
  } finally {
    toMs = performance.now();
    await Promise.all([poller.stop(), load.stop()]);
  }
  const { history } = load;
  const reads = history.reads.filter(({ value }) => value !== undefined);
  const report: FailoverReport = {
    broken: brokenPromises(history, await found(nodes)),
    writes: acknowledged().length,
    reads: reads.length,
    writeOutageMs: Math.round(longestGapMs(acknowledged(), fromMs, toMs)),
    peerOutageMs: Math.round(longestGapMs(poller.acknowledgedMs, fromMs, toMs)),
    readOutageMs: Math.round(
      longestGapMs(
        reads.map(({ endMs }) => endMs),
        fromMs,
        toMs,
      ),
    ),
    slowestReadMs: Math.round(Math.max(...reads.map(({ startMs, endMs }) => endMs - startMs))),
    failures: Object.fromEntries(load.failures),
  };
  process.stdout.write(`${title}: ${JSON.stringify({ ...report, broken: report.broken.length })}\n`);
  return report;
}

function acknowledgedMs({ writes }: ClientHistory): number[] {
  return writes.filter(({ outcome }) => outcome === "acknowledged").map(({ endMs }) => endMs);
}

/** Empties the tables, everywhere. */
async function truncate(nodes: readonly ManagedNode[]): Promise<void> {
  await askOnce((await writable(nodes)).url, "TRUNCATE written; UPDATE register SET value = 0");
  await until("every server is empty", async () => {
    const values = await Promise.all(nodes.map(({ url }) => askOnce(url, "SELECT max(value) AS value FROM register")));
    return values.every(([row]) => row?.["value"] === 0);
  });
}

async function found(nodes: readonly ManagedNode[]): Promise<ReadonlySet<number>> {
  const rows = await askOnce((await writable(nodes)).url, "SELECT value FROM written");
  return new Set(rows.map((row) => row["value"] as number));
}

async function writable(nodes: readonly ManagedNode[]): Promise<ManagedNode> {
  for (const node of nodes) {
    const rows = await askOnce(node.url, "SELECT NOT pg_is_in_recovery() AS writable").catch(() => []);
    if (rows[0]?.["writable"] === true) return node;
  }
  throw new Error("no server accepts writes");
}
