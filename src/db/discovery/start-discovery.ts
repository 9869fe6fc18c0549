import { createHash } from "node:crypto";
import { type Clock, CodedError, type Random } from "../../base/index.ts";
import type { Logger, Metrics } from "../../observability/index.ts";
import { checkDiscovery } from "../check-options.ts";
import { DiscoveryLoop } from "./discovery-loop.ts";
import { type DiscoveryOptions, defaultIntervalsMs, defaultListOptions, type ListOptions } from "./discovery-options.ts";
import { DnsSource, defaultDnsSourceOptions } from "./dns/dns-source.ts";
import { PatroniSource } from "./patroni-source.ts";
import { defaultPgAutoFailoverSourceOptions, PgAutoFailoverSource } from "./pg-auto-failover-source.ts";
import { RdsSource } from "./rds-source.ts";
import { SnapshotFile } from "./snapshot-file.ts";
import { type DiscoveredServer, type DiscoverySource, isServerHost } from "./source.ts";

/** What every part of discovery works with. */
interface CommonDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Who uses the lists. */
interface ListUser {
  /** Receives the whole list whenever it may have changed. `authoritative`: what it says of roles binds. */
  apply(servers: readonly DiscoveredServer[], options: { authoritative: boolean }): void;
  /** Whether the server HOST:PORT answers as a replica that may be used. */
  isUsable(key: string): boolean;
}

/** Discovery that is set up and not running yet. */
export interface PreparedDiscovery {
  start(user: ListUser): DiscoveryLoop;
}

/** Checks the options; `serverPort` is for servers of which only the host is known. Asks nobody yet. Errors: `bad_config`. */
export function prepareDiscovery(given: DiscoveryOptions, serverPort: number, deps: CommonDeps): PreparedDiscovery {
  const source = openSource(given, serverPort, deps);
  const kind = typeof given.source === "object" ? undefined : (given.source ?? "dns");
  const intervalMs = kind === undefined ? defaultListOptions.intervalMs : defaultIntervalsMs[kind];
  const options: ListOptions = { ...defaultListOptions, intervalMs, ...definedOnly(given as Partial<ListOptions>) };
  checkDiscovery(given, options);
  const seedHosts = options.seedHosts.map((text) => parseSeed(text, serverPort));
  const { snapshotFile: file, snapshotMaxAgeMs: maxAgeMs } = options;
  const snapshot = file === undefined ? undefined : new SnapshotFile({ file, maxAgeMs, identity: identityOf(given, source) }, deps);
  // Roles of yesterday bind nobody.
  const authoritative = source.authoritative === true;
  return {
    start: (user) =>
      new DiscoveryLoop(
        { ...options, seedHosts },
        {
          ...deps,
          source,
          snapshot,
          apply: (servers, { fresh }) => user.apply(servers, { authoritative: authoritative && fresh }),
          isUsable: (key) => user.isUsable(key),
        },
      ),
  };
}

function openSource(options: DiscoveryOptions, serverPort: number, deps: CommonDeps): DiscoverySource {
  switch (options.source) {
    case undefined:
    case "dns":
      return new DnsSource({ ...defaultDnsSourceOptions, ...definedOnly(options) }, { ...deps, serverPort });
    case "pg_auto_failover":
      return new PgAutoFailoverSource({ ...defaultPgAutoFailoverSourceOptions, ...definedOnly(options) }, deps);
    case "patroni":
      return new PatroniSource(options, deps);
    case "rds":
      return new RdsSource(options);
    default:
      if (typeof options.source === "object") return options.source;
      throw new CodedError("bad_config", "an unknown source of discovery", {
        key: "discovery.source",
        allowed: Object.keys(defaultIntervalsMs),
      });
  }
}

/** Options that are given as undefined are not given. */
function definedOnly<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

function parseSeed(text: string, serverPort: number): DiscoveredServer {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (!isServerHost(host) || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)))
    throw new CodedError("bad_config", "a seed host is HOST or HOST:PORT", { key: "discovery.seedHosts" });
  return { host, port: port === undefined ? serverPort : Number(port) };
}

const questionKeys = [
  "record",
  "recordType",
  "nameserver",
  "port",
  "monitorUrl",
  "formation",
  "groupId",
  "endpoints",
  "instance",
  "cluster",
  "region",
];

/** What was asked of whom, without a secret: a list found otherwise may be of another database. */
function identityOf(options: DiscoveryOptions, source: DiscoverySource): string {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  const question = questionKeys.map((key) => [key, given[key] ?? null]);
  return createHash("sha256")
    .update(JSON.stringify([source.name, question]))
    .digest("hex");
}
