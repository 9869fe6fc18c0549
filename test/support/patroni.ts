import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { isReplicated, killPostmaster, type ManagedNode } from "./managed-node.ts";
import { PeerHome, type PeerProcess, postgresBin, programsMissing } from "./peer-home.ts";
import { until } from "./until.ts";

/** Two servers with Patroni, and the etcd that it keeps its cluster in. */
export interface PatroniCluster extends AsyncDisposable {
  readonly nodes: readonly ManagedNode[];
  /** Base URLs of the REST API, in the order of the nodes. */
  readonly endpoints: readonly string[];
  /** The member that leads, as Patroni says; undefined where none does. */
  leader(): Promise<ManagedNode | undefined>;
  /** Waits until one leads, the other follows it, and commits wait for it. */
  settled(): Promise<void>;
  /** Has the leader exchanged. */
  switchover(): Promise<void>;
  killEtcd(): void;
}

/** Why it cannot be started on this machine; undefined where it can. */
export function patroniMissing(): string | undefined {
  return programsMissing(["patroni", "etcd", "postgres"]);
}

/** Starts it on loopback; it takes some seconds. */
export async function startPatroni(): Promise<PatroniCluster> {
  const home = await PeerHome.open();
  try {
    const etcdPort = await freePort();
    const etcd = await startEtcd(home, etcdPort);
    const members = [await startMember(home, "pg1", etcdPort)];
    await until("the first member leads", async () => (await statusOf(members[0]?.endpoint, "/primary")) === 200, 60_000);
    members.push(await startMember(home, "pg2", etcdPort));
    const statuses = (path: string) => Promise.all(members.map(({ endpoint }) => statusOf(endpoint, path)));
    const leader = async () => members[(await statuses("/primary")).indexOf(200)]?.node;
    const nodes = members.map(({ node }) => node);
    const settled = () =>
      until(
        "one leads and one follows",
        async () => (await isReplicated(nodes)) && (await statuses("/sync")).includes(200) && (await leader()) !== undefined,
        90_000,
      );
    await settled();
    return {
      nodes,
      endpoints: members.map(({ endpoint }) => endpoint),
      leader,
      settled,
      switchover: async () => {
        const from = (await leader())?.name;
        const to = members.find(({ node }) => node.name !== from)?.node.name;
        const body = JSON.stringify({ leader: from, candidate: to });
        const answer = await fetch(`${members[0]?.endpoint}/switchover`, { method: "POST", body });
        if (answer.status !== 200) throw new Error(`the switchover failed: ${answer.status} ${await answer.text()}`);
      },
      killEtcd: () => etcd.killTree(),
      [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    };
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
}

async function startEtcd(home: PeerHome, port: number): Promise<PeerProcess> {
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = home.spawn("etcd", [
    ...["--name", "e1", "--data-dir", join(home.dir, "etcd"), "--listen-client-urls", url, "--advertise-client-urls", url],
    ...["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl, "--initial-cluster", `e1=${peerUrl}`],
    "--unsafe-no-fsync",
  ]);
  await until("etcd is healthy", async () => (await statusOf(url, "/health")) === 200);
  return etcd;
}

async function startMember(
  home: PeerHome,
  name: string,
  etcdPort: number,
): Promise<{ readonly node: ManagedNode; readonly endpoint: string }> {
  const [port, restPort] = [await freePort(), await freePort()];
  const dataDir = join(home.dir, name);
  const file = await home.write(`${name}.yml`, configuration({ name, dataDir, port, restPort, etcdPort, dir: home.dir }));
  let running = home.spawn("patroni", [file]);
  const node: ManagedNode = {
    name,
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    killServer: () => killPostmaster(dataDir),
    kill: () => {
      running.killTree();
      if (existsSync(join(dataDir, "postmaster.pid"))) killPostmaster(dataDir);
    },
    start: () => {
      running = home.spawn("patroni", [file]);
    },
  };
  return { node, endpoint: `http://127.0.0.1:${restPort}` };
}

// Twenty seconds are the shortest time to live that Patroni takes.
const configuration = (of: { name: string; dataDir: string; port: number; restPort: number; etcdPort: number; dir: string }) => `
scope: demo
name: ${of.name}
restapi: {listen: "127.0.0.1:${of.restPort}", connect_address: "127.0.0.1:${of.restPort}"}
etcd3: {host: "127.0.0.1:${of.etcdPort}"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    postgresql: {use_pg_rewind: true}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
postgresql:
  listen: "127.0.0.1:${of.port}"
  connect_address: "127.0.0.1:${of.port}"
  data_dir: ${of.dataDir}
  bin_dir: ${postgresBin}
  pgpass: ${join(of.dir, `${of.name}.pgpass`)}
  basebackup: [{checkpoint: fast}]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication: {superuser: {username: postgres}, replication: {username: postgres}, rewind: {username: postgres}}
  parameters: {unix_socket_directories: "${of.dir}", shared_buffers: 16MB, wal_keep_size: 64MB}
`;

/** What an endpoint answers; 0 where it does not. */
async function statusOf(endpoint: string | undefined, path: string): Promise<number> {
  return await fetch(`${endpoint}${path}`, { signal: AbortSignal.timeout(2000) }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    () => 0,
  );
}
