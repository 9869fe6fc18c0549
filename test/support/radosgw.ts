import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
const accessKey = "test-access-key";
const secretKey = "test-secret-key";
const bucket = "gitaly-test";
const monitorPort = 6789;
const binaries = ["ceph-mon", "ceph-osd", "ceph", "radosgw", "radosgw-admin", "monmaptool"];

export interface RadosGateway extends AsyncDisposable {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The bucket, with credentials, for `openObjectStore`. */
  readonly url: string;
}

/** Why a gateway cannot be started on this machine; undefined where it can. */
export function radosgwMissing(): string | undefined {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/usr/sbin"];
  const missing = binaries.filter((name) => !dirs.some((dir) => existsSync(join(dir, name))));
  return missing.length === 0 ? undefined : `radosgw is not installed (missing: ${missing.join(", ")})`;
}

/**
 * Starts Ceph's S3 server with one monitor and one in-memory storage daemon, as a user of its own: no configuration of the machine is used.
 * One at a time, since the monitor's port is fixed.
 */
export async function startRadosgw(): Promise<RadosGateway> {
  const dir = await mkdtemp(join(tmpdir(), "gitaly-radosgw-"));
  const children: ChildProcess[] = [];
  // A runner that gives up must not leave them: the monitor's port is fixed.
  const killAll = () => void children.map((child) => child.kill("SIGKILL"));
  process.once("exit", killAll);
  const stop = async () => {
    process.off("exit", killAll);
    for (const child of children.splice(0).reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await exited;
    }
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    if (await accepts(monitorPort)) throw new Error(`port ${monitorPort} is taken; does another ceph-mon run?`);
    const port = await freePort();
    await startDaemons(dir, port, children);
    const endpoint = `http://127.0.0.1:${port}`;
    await createBucket(endpoint);
    const query = `endpoint=${encodeURIComponent(endpoint)}&region=us-east-1`;
    const url = `s3://${accessKey}:${secretKey}@${bucket}/prefix?${query}`;
    return { endpoint, accessKey, secretKey, url, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDaemons(dir: string, port: number, children: ChildProcess[]): Promise<void> {
  const fsid = randomUUID();
  const conf = join(dir, "ceph.conf");
  await mkdir(join(dir, "run"));
  await mkdir(join(dir, "mon"));
  await mkdir(join(dir, "osd"));
  await writeFile(conf, configuration(dir, fsid, port));
  const tool = async (name: string, ...args: string[]) => (await run(name, args, { timeout: 60_000, env: environment(conf) })).stdout;
  const daemon = (name: string, ...args: string[]) => {
    const child = spawn(name, ["-f", "-c", conf, ...args], { stdio: "ignore", env: environment(conf) });
    child.on("error", () => {});
    children.push(child);
    return child;
  };

  const monMap = join(dir, "monmap");
  await tool("monmaptool", "--create", "--fsid", fsid, "--add", "a", `127.0.0.1:${monitorPort}`, monMap);
  await tool("ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", monMap);
  const monitor = daemon("ceph-mon", "-i", "a");
  await until(monitor, () => accepts(monitorPort));

  const osdId = randomUUID();
  await until(monitor, () =>
    tool("ceph", "-c", conf, "--connect-timeout", "5", "osd", "new", osdId, "0").then(
      () => true,
      () => false,
    ),
  );
  await tool("ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", osdId);
  // Now and then the daemon's first command reaches the monitor before it knows the cluster's id, is refused, and the daemon ends.
  let osd = daemon("ceph-osd", "-i", "0");
  await until(monitor, async () => {
    if (osd.exitCode !== null) osd = daemon("ceph-osd", "-i", "0");
    return (await tool("ceph", "-c", conf, "--connect-timeout", "5", "osd", "stat")).includes("1 up");
  });
  const gateway = daemon("radosgw", "-n", "client.rgw");
  await until(gateway, () => accepts(port));
  await tool(
    "radosgw-admin",
    ...["-c", conf, "-n", "client.rgw", "user", "create", "--uid", "test", "--display-name", "test"],
    ...["--access-key", accessKey, "--secret-key", secretKey],
  );
}

function configuration(dir: string, fsid: string, port: number): string {
  return `[global]
fsid = ${fsid}
auth cluster required = none
auth service required = none
auth client required = none
mon host = 127.0.0.1:${monitorPort}
public addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd pool default pg num = 4
osd pool default pgp num = 4
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
mon data = ${dir}/mon
osd data = ${dir}/osd
run dir = ${dir}/run
admin socket = ${dir}/run/$name.$pid.asok
log file = ${dir}/$name.log
pid file = ${dir}/run/$name.pid
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
rgw data = ${dir}/rgw
`;
}

function environment(conf: string): NodeJS.ProcessEnv {
  return { PATH: `${process.env["PATH"] ?? ""}${delimiter}/usr/sbin`, CEPH_CONF: conf, HOME: tmpdir() };
}

async function createBucket(endpoint: string): Promise<void> {
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    requestChecksumCalculation: "WHEN_REQUIRED",
  });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } finally {
    client.destroy();
  }
}

/** Asks until the answer is yes; gives up after two minutes, or when the process it depends on has ended. */
async function until(child: ChildProcess, ask: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 100))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    if (await ask()) return;
  }
  throw new Error(`${child.spawnfile} did not become ready in two minutes`);
}

async function accepts(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
