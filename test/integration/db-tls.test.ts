import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { appendFile, copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { allUsable, patientDatabase } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { startTcpFront } from "../support/tcp-front.ts";
import { tempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let replica: PostgresServer;
/** Paths of certificates: the servers' own, and one that no server has. */
let own: string;
let foreign: string;
/** A certificate and key that the servers do not have yet. */
let newPair: { readonly certificate: string; readonly key: string };

/** The user `postgres`, which the cluster's own connections are of, needs no TLS; `app` does. */
const accessRules = `
host replication postgres 127.0.0.1/32 trust
host all postgres 127.0.0.1/32 trust
hostssl all app 127.0.0.1/32 trust
`;

beforeAll(async () => {
  const dir = await tempDir();
  const file = async (name: string, text: string) => {
    const path = join(dir.path, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const { certificate, key } = selfSigned();
  own = await file("own.crt", certificate);
  foreign = await file("foreign.crt", selfSigned().certificate);
  // Two of one name in a list of known ones would be taken for each other.
  const other = selfSigned("its new certificate");
  newPair = { certificate: await file("new.crt", other.certificate), key: await file("new.key", other.key) };
  const keyFile = await file("own.key", key);
  cluster = await startPostgresCluster({ replicas: 1 });
  replica = cluster.replicas[0] as PostgresServer;
  await cluster.sql(cluster.primary, "CREATE ROLE app LOGIN SUPERUSER; CREATE TABLE t (id int PRIMARY KEY)");
  await cluster.caughtUp();
  for (const server of [cluster.primary, replica]) {
    const [{ hba_file: hbaFile } = {}] = await cluster.sql(server, "SHOW hba_file");
    await writeFile(hbaFile as string, accessRules);
    for (const [name, value] of Object.entries({ ssl: "on", ssl_cert_file: own, ssl_key_file: keyFile })) {
      await cluster.sql(server, `ALTER SYSTEM SET ${name} = '${value}'`);
    }
    await cluster.sql(server, "SELECT pg_reload_conf()");
    await until("the server takes TLS connections", async () => (await cluster.sql(server, "SHOW ssl"))[0]?.["ssl"] === "on");
  }
  return async () => {
    await cluster[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
});

/** A certificate for 127.0.0.1, valid until 2049: Node signs, but makes none. */
function selfSigned(subject = "a test's server"): { certificate: string; key: string } {
  const der = (tag: number, ...parts: (Uint8Array | string)[]) => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const head = body.length < 0x80 ? [tag, body.length] : [tag, 0x82, body.length >> 8, body.length & 0xff];
    return Buffer.concat([Buffer.from(head), body]);
  };
  const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
  const id = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(id("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(id("550403"), der(0x0c, subject))));
  const subjectAltName = sequence(id("551d11"), der(0x04, sequence(der(0x87, Buffer.of(127, 0, 0, 1)))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    name,
    sequence(der(0x17, "200101000000Z"), der(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signed = sequence(body, ecdsaWithSha256, der(0x03, Buffer.of(0), sign("sha256", body, privateKey)));
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${signed.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function urlOf(server: PostgresServer, user: "app" | "postgres", settings: Record<string, string>): string {
  const url = new URL(server.url);
  url.username = user;
  url.search = new URLSearchParams(settings).toString();
  return url.href;
}

const open = (user: "app" | "postgres", settings: Record<string, string>, more: { applicationName?: string } = {}) =>
  createLoadBalancer({
    ...patientDatabase,
    primary: urlOf(cluster.primary, user, settings),
    replicas: [urlOf(replica, user, settings)],
    ...more,
  });

/** The connections of a load balancer, by what the server calls them, and whether each is encrypted. */
const connectionsAt = (server: PostgresServer, applicationName: string) =>
  cluster.sql(
    server,
    `SELECT application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name LIKE '${applicationName}%' ORDER BY 1`,
  );

const ways = {
  "without a look at the certificate": () => ({ sslmode: "no-verify" }),
  "with the certificate that it knows": () => ({ sslmode: "verify-full", sslrootcert: own }),
};

describe.each(Object.entries(ways))("over TLS, %s", (way, settings) => {
  test("reads go to the replica and writes to the primary, all of it encrypted, checks too", async () => {
    await using lb = await open("app", settings(), { applicationName: way });
    await allUsable(lb);
    await cluster.sql(cluster.primary, "TRUNCATE t");
    await cluster.caughtUp();
    const mine = "pg_is_in_recovery() AS standby, (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS ssl";
    expect((await lb.query(`SELECT count(*)::int AS ids, ${mine} FROM t`)).rows).toEqual([{ ids: 0, standby: true, ssl: true }]);
    expect((await lb.query(`INSERT INTO t VALUES (1) RETURNING id, ${mine}`)).rows).toEqual([{ id: 1, standby: false, ssl: true }]);
    const moved = await lb.transaction(async (tx) => {
      await tx.query("UPDATE t SET id = 2");
      return (await tx.query(`SELECT id, ${mine} FROM t`)).rows;
    });
    expect(moved).toEqual([{ id: 2, standby: false, ssl: true }]);
    for (const server of [cluster.primary, replica]) {
      expect(await connectionsAt(server, way)).toEqual([
        { name: way, ssl: true },
        { name: `${way} check`, ssl: true },
      ]);
    }
  });
});

describe("a statement and a result of several MiB", () => {
  const rowsOf = (seed: number) =>
    Array.from({ length: 4096 }, (_, i) => ({ i, text: createHash("md5").update(`${seed} ${i}`).digest("hex").repeat(32) }));

  /** Several at a time, since the plain connections read into one buffer. */
  async function carry(lb: LoadBalancer, ssl: boolean): Promise<void> {
    const seeds = [1, 2, 3, 4];
    const rowsText = `SELECT i, repeat(md5($1::text || ' ' || i), 32) AS text FROM generate_series(0, 4095) i ORDER BY i`;
    const results = await Promise.all(seeds.map((seed) => lb.query(rowsText, [seed])));
    for (const [at, seed] of seeds.entries()) expect(results[at]?.rows).toEqual(rowsOf(seed));
    const echoText = "SELECT $1::text AS text, md5($1::text) AS md5, (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS ssl";
    const sent = seeds.map((seed) => rowsOf(seed).reduce((all, { text }) => all + text, ""));
    const echoes = await Promise.all(sent.map((text) => lb.query(echoText, [text])));
    for (const [at, text] of sent.entries()) {
      expect(text).toHaveLength(4 * 1024 * 1024);
      const md5 = createHash("md5").update(text).digest("hex");
      expect(echoes[at]?.rows.map((row) => ({ ...row, text: row["text"] === text }))).toEqual([{ text: true, md5, ssl }]);
    }
  }

  test.each([
    ["TLS", "app", { sslmode: "no-verify" }],
    ["a plain connection", "postgres", {}],
  ] as const)("arrive whole over %s", async (_name, user, settings) => {
    await using lb = await open(user, settings);
    await allUsable(lb);
    await carry(lb, user === "app");
    await lb.usePrimary(() => carry(lb, user === "app"));
  });
});

test("a statement that is given up over TLS is stopped, and the key for that is not told to everybody", async () => {
  const heard: Buffer[] = [];
  await using front = await startTcpFront(replica.port, { onHeard: (chunk) => void heard.push(chunk) });
  const throughFront = new URL(urlOf(replica, "app", { sslmode: "no-verify" }));
  throughFront.port = String(front.port);
  await using lb = await createLoadBalancer({
    ...patientDatabase,
    primary: urlOf(cluster.primary, "app", { sslmode: "no-verify" }),
    replicas: [throughFront.href],
  });
  await allUsable(lb);
  const active = async () =>
    (await cluster.sql(replica, "SELECT FROM pg_stat_activity WHERE state = 'active' AND usename = 'app' AND query LIKE '%sleep(61)%'"))
      .length;
  const controller = new AbortController();
  const running = failureOf(lb.query("SELECT pg_sleep(61)", [], { signal: controller.signal }));
  await until("the statement runs", async () => (await active()) === 1);
  controller.abort(new CodedError("cancelled", "enough"));
  expect((await running).code).toBe("cancelled");
  await until("the statement has ended", async () => (await active()) === 0);
  // The request's length and its code.
  expect(Buffer.concat(heard).includes(Buffer.of(0, 0, 0, 16, 4, 210, 22, 46))).toBe(false);
});

test("where TLS breaks while a write runs, its outcome is unknown", async () => {
  let garbles = false;
  const rewrite = (chunk: Buffer) => (garbles ? Buffer.alloc(chunk.length, 7) : chunk);
  await using front = await startTcpFront(cluster.primary.port, { rewrite });
  const throughFront = new URL(urlOf(cluster.primary, "app", { sslmode: "no-verify" }));
  throughFront.port = String(front.port);
  await using lb = await createLoadBalancer({ ...patientDatabase, primary: throughFront.href });
  await allUsable(lb);
  await lb.query("INSERT INTO t VALUES (70)");
  garbles = true;
  expect(await failureOf(lb.query("INSERT INTO t VALUES (71)"))).toMatchObject({ code: "outcome_unknown" });
  expect(await cluster.sql(cluster.primary, "SELECT id FROM t WHERE id = 71")).toEqual([{ id: 71 }]);
  garbles = false;
});

describe("a connection that cannot be had", () => {
  const refusals = {
    "another certificate than the known one": [
      () => ({ sslmode: "verify-full", sslrootcert: foreign }),
      { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    ],
    "no known certificate": [() => ({ sslmode: "verify-full" }), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }],
    "no TLS, which the server demands": [
      () => ({ sslmode: "disable" }),
      { code: "28000", message: expect.stringMatching(/pg_hba.* no encryption/) },
    ],
  } as const;

  test.each(Object.entries(refusals))("fails with a typed error: %s", async (why, [settings, cause]) => {
    await using lb = await open("app", settings(), { applicationName: why });
    for (const text of ["SELECT id FROM t", "INSERT INTO t VALUES (10)"]) {
      const failure = await failureOf(lb.query(text));
      expect(failure).toMatchObject({ code: "database_unavailable", fields: { reason: "config" }, cause });
    }
    await until("no server may be used", () => lb.status.every(({ usable, reason }) => !usable && reason === "config"));
    expect([await connectionsAt(cluster.primary, why), await connectionsAt(replica, why)]).toEqual([[], []]);
  });
});

// Last: the replica keeps the new certificate.
test("reads whose replica has got a certificate that is not known go to the primary, until it is", async () => {
  const known = await tempDir();
  await using _dir = known;
  const bundle = join(known.path, "known.crt");
  await copyFile(own, bundle);
  const settings = { sslmode: "verify-full", sslrootcert: bundle };
  await using lb = await createLoadBalancer({
    ...patientDatabase,
    primary: urlOf(cluster.primary, "app", settings),
    replicas: [urlOf(replica, "app", settings)],
    replicaCheckIntervalMs: 100,
  });
  await allUsable(lb);
  const isOnStandby = async () => (await lb.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby")).rows[0]?.standby;
  await cluster.sql(replica, `ALTER SYSTEM SET ssl_cert_file = '${newPair.certificate}'`);
  await cluster.sql(replica, `ALTER SYSTEM SET ssl_key_file = '${newPair.key}'`);
  await cluster.sql(replica, "SELECT pg_reload_conf()");
  const shown = async () => (await cluster.sql(replica, "SHOW ssl_cert_file"))[0]?.["ssl_cert_file"];
  await until("the replica has it", async () => (await shown()) === newPair.certificate);
  for (let i = 0; i < 5; i++) expect(await isOnStandby()).toBe(false);
  // Connections from before would hide it.
  await until("it is known to be unusable", () => lb.status[1]?.usable === false && lb.status[1].reason === "config");
  await appendFile(bundle, await readFile(newPair.certificate));
  await until("it is read from again", async () => (await isOnStandby()) === true);
});
