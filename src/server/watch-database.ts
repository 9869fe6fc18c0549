import { CodedError, splitHostPort } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import { createLoadBalancer, primaryOf } from "../db/index.ts";

/** A server that is the primary. */
export interface WatchedPrimary {
  /** HOST:PORT. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Watches the servers of the configured database, without a node. Errors: `bad_config` where none is configured. */
export async function watchDatabase(config: Config): Promise<{ primary(): WatchedPrimary | undefined } & AsyncDisposable> {
  const { url, replicas, discovery, balancer, roleEndpoints } = config.database;
  if (url === undefined) throw new CodedError("bad_config", "there is no database to watch", { key: "database.url", flag: "--database" });
  const servers = { primary: url, replicas, ...(discovery && { discovery }) };
  const database = await createLoadBalancer({ ...balancer, ...servers, applicationName: "gitaly db watch" });
  return {
    primary: () => {
      const name = primaryOf(database, roleEndpoints);
      const parts = name === undefined ? undefined : splitHostPort(name);
      return name === undefined || !parts ? undefined : { name, ...parts };
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}
