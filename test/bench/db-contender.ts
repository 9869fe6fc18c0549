import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { packageRoot } from "../../src/base/index.ts";

/** The URLs of a primary and its replicas. */
export interface DbServers {
  readonly primary: string;
  readonly replicas: readonly string[];
}

/** One way to get statements to a database. */
export interface Contender extends AsyncDisposable {
  read(text: string, values: unknown[]): Promise<unknown>;
  write(text: string, values: unknown[]): Promise<unknown>;
  /** Runs the statements of `fn` as one unit of work. */
  unit(fn: () => Promise<void>): Promise<void>;
}

export type ContenderName =
  | "load balancer"
  | "load balancer, sessions"
  | "load balancer, prepared"
  | "pg.Pool"
  | "pg.Pool, prepared"
  | "aws wrapper"
  | "aws wrapper, no pool";

/** Connections to each server. */
const poolSize = 10;
const noUnit = (fn: () => Promise<void>) => fn();

/** Opens a contender. */
export const contenders: Readonly<Record<ContenderName, (servers: DbServers) => Promise<Contender>>> = {
  /** The load balancer, statements outside of any session. */
  "load balancer": (servers) => openLoadBalancer(servers),
  /** The load balancer, each unit of work in a session. */
  "load balancer, sessions": (servers) => openLoadBalancer(servers, { sessions: true }),
  /** The load balancer, which prepares what runs often. */
  "load balancer, prepared": (servers) => openLoadBalancer(servers, { prepareAfter: 5 }),
  /** The driver's own pool, one for each server: reads in turn to the replicas, writes to the primary, as who knows which is which would do. */
  "pg.Pool": (servers) => openPools(servers, (text, values) => ({ text, values })),
  /** The same with a name for each text, as the program itself would have to give. */
  "pg.Pool, prepared": (servers) => openPools(servers, (text, values) => ({ name: text.slice(0, 40), text, values })),
  /** The wrapper's pools in the same manner, without plugins, which is the fastest that it can be set up. */
  "aws wrapper": async ({ primary, replicas }) => {
    const { AwsPgPoolClient } = await wrapper();
    const open = (url: string) =>
      new AwsPgPoolClient({ ...place(url), plugins: "" }, { maxConnections: poolSize, idleTimeoutMillis: 10_000 });
    const writes = open(primary);
    const reads = replicas.map(open);
    let turn = 0;
    return {
      read: (text, values) => (reads[++turn % reads.length] as typeof writes).query(text, values),
      write: (text, values) => writes.query(text, values),
      unit: noUnit,
      [Symbol.asyncDispose]: async () => void (await Promise.all([writes, ...reads].map((pool) => pool.end()))),
    };
  },
  /** Connections of the wrapper's that are never given back, which spares it most of its work. */
  "aws wrapper, no pool": async ({ primary, replicas }) => {
    const { AwsPGClient } = await wrapper();
    const all: WrapperClient[] = [];
    const keep = (url: string) => {
      const idle: WrapperClient[] = [];
      return async (text: string, values: unknown[]) => {
        const client = idle.pop() ?? new AwsPGClient({ ...place(url), plugins: "" });
        if (!all.includes(client)) {
          all.push(client);
          await client.connect();
        }
        const result = await client.query(text, values);
        idle.push(client);
        return result;
      };
    };
    const reads = replicas.map(keep);
    let turn = 0;
    return {
      read: (text, values) => (reads[++turn % reads.length] as ReturnType<typeof keep>)(text, values),
      write: keep(primary),
      unit: noUnit,
      [Symbol.asyncDispose]: async () => void (await Promise.all(all.map((client) => client.end()))),
    };
  },
};

async function openPools({ primary, replicas }: DbServers, query: (text: string, values: unknown[]) => pg.QueryConfig): Promise<Contender> {
  const open = (connectionString: string) => new pg.Pool({ connectionString, max: poolSize });
  const writes = open(primary);
  const reads = replicas.map(open);
  let turn = 0;
  return {
    read: (text, values) => (reads[++turn % reads.length] as pg.Pool).query(query(text, values)),
    write: (text, values) => writes.query(query(text, values)),
    unit: noUnit,
    [Symbol.asyncDispose]: async () => void (await Promise.all([writes, ...reads].map((pool) => pool.end()))),
  };
}

async function openLoadBalancer(
  { primary, replicas }: DbServers,
  { sessions = false, prepareAfter = 0 }: { sessions?: boolean; prepareAfter?: number } = {},
): Promise<Contender> {
  // As it is built and shipped: what runs TypeScript directly makes it slower.
  const { href } = pathToFileURL(join(packageRoot, "dist", "src", "db", "index.js"));
  const { createLoadBalancer } = (await import(href)) as typeof import("../../src/db/index.ts");
  const lb = await createLoadBalancer({ primary, replicas, poolSize, prepareAfter });
  const query = (text: string, values: unknown[]) => lb.query(text, values);
  return { read: query, write: query, unit: sessions ? (fn) => lb.session(fn) : noUnit, [Symbol.asyncDispose]: () => lb.close() };
}

interface WrapperClient {
  connect(): Promise<void>;
  query(text: string, values: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

/** Loaded only by who uses it, so that it slows nobody else down. Its types do not resolve under this compiler's settings. */
async function wrapper() {
  return (await import("aws-advanced-nodejs-wrapper/pg")) as unknown as {
    readonly AwsPgPoolClient: new (config: object, pool: object) => Omit<WrapperClient, "connect">;
    readonly AwsPGClient: new (config: object) => WrapperClient;
  };
}

/** It takes no URL. */
function place(url: string): object {
  const { hostname, port, username, pathname } = new URL(url);
  return { host: hostname, port: Number(port), user: decodeURIComponent(username), password: "", database: pathname.slice(1) };
}
