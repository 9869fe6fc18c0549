import { type DiscoveryLoopOptions, defaultDiscoveryLoopOptions } from "./discovery-loop.ts";
import type { DnsSourceOptions } from "./dns/dns-source.ts";
import type { PatroniSourceOptions } from "./patroni-source.ts";
import type { PgAutoFailoverSourceOptions } from "./pg-auto-failover-source.ts";
import type { RdsSourceOptions } from "./rds-source.ts";
import type { DiscoverySource } from "./source.ts";

/** Which source is asked, and what it needs; without `source` it is DNS. */
type SourceOptions =
  | ({ readonly source?: "dns" } & Partial<DnsSourceOptions> & Pick<DnsSourceOptions, "record">)
  | ({ readonly source: "pg_auto_failover" } & Partial<PgAutoFailoverSourceOptions> & Pick<PgAutoFailoverSourceOptions, "monitorUrl">)
  | ({ readonly source: "patroni" } & PatroniSourceOptions)
  | ({ readonly source: "rds" } & RdsSourceOptions)
  | { readonly source: DiscoverySource };

/** How lists of servers are used and kept, whatever the source. */
export interface ListOptions extends Omit<DiscoveryLoopOptions, "seedHosts"> {
  /** `HOST` or `HOST:PORT`, used at start when there is neither an answer nor a kept list. Default none. */
  readonly seedHosts: readonly string[];
  /** File that keeps the newest list for the next start. Default none. */
  readonly snapshotFile: string | undefined;
  /** Older lists are not used. Default 24 hours. */
  readonly snapshotMaxAgeMs: number;
}

/** How servers are found. */
export type DiscoveryOptions = SourceOptions & Partial<ListOptions>;

const minuteMs = 60_000;

export const defaultListOptions: ListOptions = {
  ...defaultDiscoveryLoopOptions,
  seedHosts: [],
  snapshotFile: undefined,
  snapshotMaxAgeMs: 24 * 60 * minuteMs,
};

/** Sources that cost little and know about failovers are asked every five seconds. */
export const defaultIntervalsMs = { dns: minuteMs, pg_auto_failover: 5000, patroni: 5000, rds: minuteMs } as const;
