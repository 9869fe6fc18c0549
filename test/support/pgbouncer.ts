import pg from "pg";
import { freePort } from "./free-port.ts";
import { PeerHome, programsMissing } from "./peer-home.ts";
import { until } from "./until.ts";

/** A PgBouncer that pools by transaction and knows one database, `app`. */
export interface Pgbouncer extends AsyncDisposable {
  readonly port: number;
  /** Of the database, through the pooler. */
  readonly url: string;
  /** A shell command that points the pooler to the server in DBLB_PRIMARY_HOST and DBLB_PRIMARY_PORT. */
  readonly repoint: string;
}

/** Why it cannot be started on this machine; undefined where it can. */
export function pgbouncerMissing(): string | undefined {
  return programsMissing(["pgbouncer", "psql"]);
}

/** Starts one on loopback that leads to `serverPort` there, or nowhere yet. */
export async function startPgbouncer({ serverPort = 1 }: { serverPort?: number } = {}): Promise<Pgbouncer> {
  const home = await PeerHome.open();
  try {
    const port = await freePort();
    const databases = await home.write("databases.ini", databasesIni("127.0.0.1", String(serverPort)));
    const file = await home.write("pgbouncer.ini", configuration(port, databases));
    const { child } = home.spawn("pgbouncer", [file]);
    const admin = `postgres://postgres@127.0.0.1:${port}/pgbouncer`;
    await until("PgBouncer answers", async () => {
      if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
      return await answers(admin);
    });
    // The new file is there whole or not at all.
    const script = `set -e
cat >${databases}.new <<END
${databasesIni("$DBLB_PRIMARY_HOST", "$DBLB_PRIMARY_PORT")}END
mv ${databases}.new ${databases}
psql -X -q -d ${admin} -c RELOAD
psql -X -q -d ${admin} -c 'RECONNECT app'
`;
    const hook = await home.write("repoint.sh", script);
    return {
      port,
      url: `postgres://postgres@127.0.0.1:${port}/app`,
      repoint: `sh ${hook}`,
      [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    };
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
}

const databasesIni = (host: string, port: string) => `[databases]
app = host=${host} port=${port} dbname=postgres user=postgres
`;

const configuration = (port: number, databases: string) => `
%include ${databases}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = transaction
server_login_retry = 0.2
server_connect_timeout = 1
query_wait_timeout = 60
ignore_startup_parameters = extra_float_digits, statement_timeout, options
`;

async function answers(admin: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: admin, connectionTimeoutMillis: 1000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
