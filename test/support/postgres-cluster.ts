import { access, appendFile, cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { locateBinaries } from "../../src/catalog/embedded/binaries.ts";
import { createRunner, type Runner } from "../../src/catalog/embedded/runner.ts";
import { freePort } from "./free-port.ts";
import { tempDir } from "./temp-dir.ts";
import { until } from "./until.ts";

/** One server of a test cluster. */
export interface PostgresServer {
  readonly port: number;
  /** URL of the database `postgres`, as superuser. */
  readonly url: string;
  start(): Promise<void>;
  /** Stops it as a crash would: nobody is told. */
  stop(): Promise<void>;
  /** Stops it in order: its standbys receive everything first. */
  shutDown(): Promise<void>;
  /** Ends its recovery; resolves when it accepts writes. */
  promote(): Promise<void>;
  /** Makes a stopped standby a server of its own, on the same timeline. */
  isolate(): Promise<void>;
  /** Makes a standby that runs, or a server that is stopped, follow another server. */
  follow(other: PostgresServer): Promise<void>;
}

/** A primary and its streaming replicas on loopback. */
export interface PostgresCluster extends AsyncDisposable {
  readonly primary: PostgresServer;
  readonly replicas: readonly PostgresServer[];
  /** Empty servers of their own, each with another system identifier. */
  readonly others: readonly PostgresServer[];
  /** Runs SQL on a server, outside of anything that is tested. */
  sql(server: PostgresServer, text: string): Promise<Record<string, unknown>[]>;
  /** Waits until every replica has replayed what the primary wrote so far. */
  caughtUp(): Promise<void>;
}

const settings = (port: number) => `
port = ${port}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_wal_senders = 10
max_replication_slots = 10
hot_standby = on
hot_standby_feedback = off
max_standby_streaming_delay = 300ms
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
fsync = off
shared_buffers = 16MB
autovacuum = off
wal_keep_size = 64MB
`;

/** Starts a cluster of servers made from the embedded binaries. */
export async function startPostgresCluster({
  replicas: count,
  others: otherCount = 0,
}: {
  replicas: number;
  others?: number;
}): Promise<PostgresCluster> {
  const dir = await tempDir();
  const runner = await createRunner(await locateBinaries(), dir.path, "auto");
  const started: PostgresServer[] = [];
  try {
    const primaryDir = join(dir.path, "primary");
    await initialize(runner, primaryDir);
    const port = await freePort();
    await appendFile(join(primaryDir, "postgresql.conf"), settings(port));
    const primary = serverIn(runner, primaryDir, port);
    const replicas: PostgresServer[] = [];
    // The primary has not run yet: its directory is a consistent base for the replicas.
    for (let i = 0; i < count; i++) replicas.push(await makeReplica(runner, primaryDir, join(dir.path, `replica-${i}`), i, port));
    for (const server of [primary, ...replicas]) {
      started.push(server);
      await server.start();
      if (server === primary)
        for (let i = 0; i < count; i++) await sql(primary, `SELECT pg_create_physical_replication_slot('s${i}', true)`);
    }
    const others: PostgresServer[] = [];
    for (let i = 0; i < otherCount; i++) {
      const otherDir = join(dir.path, `other-${i}`);
      await initialize(runner, otherDir);
      const otherPort = await freePort();
      await appendFile(join(otherDir, "postgresql.conf"), settings(otherPort));
      const other = serverIn(runner, otherDir, otherPort);
      others.push(other);
      started.push(other);
      await other.start();
    }
    return {
      primary,
      replicas,
      others,
      sql,
      caughtUp: () => caughtUp(primary, replicas),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(started.map((server) => server.stop()));
        await dir[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await Promise.all(started.map((server) => server.stop()));
    await dir[Symbol.asyncDispose]();
    throw error;
  }
}

async function initialize(runner: Runner, dir: string): Promise<void> {
  const result = await runner.run("initdb", [
    ...["-D", dir, "-U", "postgres", "-A", "trust"],
    ...["--no-sync", "-E", "UTF8", "--locale=C", "--wal-segsize=1"],
  ]);
  if (result.code !== 0) throw new Error(`initdb failed: ${result.output}`);
}

async function makeReplica(runner: Runner, primaryDir: string, dir: string, index: number, primaryPort: number): Promise<PostgresServer> {
  await cp(primaryDir, dir, { recursive: true });
  await writeFile(join(dir, "standby.signal"), "");
  const port = await freePort();
  await appendFile(
    join(dir, "postgresql.conf"),
    `${settings(port)}
primary_conninfo = 'host=127.0.0.1 port=${primaryPort} user=postgres application_name=s${index}'
primary_slot_name = 's${index}'
`,
  );
  return serverIn(runner, dir, port);
}

function serverIn(runner: Runner, dir: string, port: number): PostgresServer {
  const control = async (what: string, ...args: string[]) => {
    const result = await runner.run("pg_ctl", ["-D", dir, "-w", "-t", "60", ...args]);
    if (result.code !== 0) throw new Error(`${what} failed: ${result.output}`);
  };
  const server: PostgresServer = {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start: async () => {
      await rm(join(dir, "postmaster.pid"), { force: true });
      await control("start", "-l", join(dir, "server.log"), "start");
    },
    stop: async () => {
      await runner.run("pg_ctl", ["-D", dir, "-m", "immediate", "-w", "-t", "30", "stop"]);
    },
    shutDown: () => control("stop", "-m", "fast", "stop"),
    promote: () => control("promote", "promote"),
    isolate: () => rm(join(dir, "standby.signal")),
    follow: async (other) => {
      const settings = { primary_conninfo: `host=127.0.0.1 port=${other.port} user=postgres`, primary_slot_name: "" };
      if (await isRunning(dir)) {
        for (const [name, value] of Object.entries(settings)) await sql(server, `ALTER SYSTEM SET ${name} = '${value}'`);
        await sql(server, "SELECT pg_reload_conf()");
        return;
      }
      const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
      await appendFile(join(dir, "postgresql.auto.conf"), lines.join(""));
      await writeFile(join(dir, "standby.signal"), "");
    },
  };
  return server;
}

function isRunning(dir: string): Promise<boolean> {
  return access(join(dir, "postmaster.pid")).then(
    () => true,
    () => false,
  );
}

async function sql(server: PostgresServer, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function caughtUp(primary: PostgresServer, replicas: readonly PostgresServer[]): Promise<void> {
  const lsn = (await sql(primary, "SELECT pg_current_wal_insert_lsn()::text AS lsn"))[0]?.["lsn"];
  for (const replica of replicas) {
    await until(
      "the replica has replayed what the primary wrote",
      async () => (await sql(replica, `SELECT pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn AS there`))[0]?.["there"] === true,
      60_000,
    );
  }
}
