import { CodedError, systemClock, systemRandom } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import { createLoadBalancer, primaryOf } from "../db/index.ts";
import { noMetrics, silentLogger } from "../observability/index.ts";

/** A server that is the primary. */
export interface WatchedPrimary {
  /** HOST:PORT. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Watches the servers of the configured database, without a node. Errors: `bad_config` where none is configured. */
export async function watchDatabase(config: Config): Promise<{ primary(): WatchedPrimary | undefined } & AsyncDisposable> {
  const { url, replicas, discovery } = config.database;
  if (url === undefined) throw new CodedError("bad_config", "there is no database to watch", { key: "database.url", flag: "--database" });
  const options = { primary: url, replicas, applicationName: "gitaly db watch", ...(discovery && { discovery }) };
  const deps = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  const database = await createLoadBalancer(options, deps);
  return {
    primary: () => {
      const name = primaryOf(database);
      const [, host, port] = /^(.+):(\d+)$/.exec(name ?? "") ?? [];
      if (name === undefined || host === undefined) return undefined;
      return { name, host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}
