import { spawnSync } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { tempDir } from "../support/temp-dir.ts";

const recipe = (name: string) => join(packageRoot, "docs", "deploy", name);
let dir: string;
let log: string;

// Programs that the recipes call, each of which only notes how it was called and what it was told.
beforeEach(async () => {
  const made = await tempDir();
  dir = made.path;
  log = join(dir, "log");
  for (const name of ["psql", "ip", "arping", "nsupdate"]) {
    const reads = name === "nsupdate" ? '\ncat >> "$LOG"' : "";
    const answer = name === "ip" ? '\nprintf "2: eth0    inet %s scope global eth0\\n" "$HELD"' : "";
    const path = join(dir, name);
    await writeFile(path, `#!/bin/sh\necho "${name} $*" >> "$LOG"${reads}${answer}\n`);
    await chmod(path, 0o755);
  }
  return () => made[Symbol.asyncDispose]();
});

/** Runs a recipe as `gitaly db watch` would; its exit code and what it called. */
async function run(name: string, host: string, env: Record<string, string> = {}) {
  const { status } = spawnSync("/bin/sh", ["-c", recipe(name)], {
    env: { PATH: `${dir}:/usr/bin:/bin`, LOG: log, HELD: "", DBLB_PRIMARY_HOST: host, DBLB_PRIMARY_PORT: "5433", ...env },
    stdio: "ignore",
  });
  return { status, calls: (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n") };
}

test("PgBouncer's recipe replaces the file as a whole, reloads it and closes connections to the former primary", async () => {
  const file = join(dir, "databases.ini");
  const { status, calls } = await run("pgbouncer-repoint.sh", "db2.example.com", { DATABASES_INI: file, PGBOUNCER: "console" });
  expect(status).toBe(0);
  expect(await readFile(file, "utf8")).toBe("[databases]\napp = host=db2.example.com port=5433 dbname=app\n");
  const told = (command: string) => `psql -X -q -w -v ON_ERROR_STOP=1 -d console -c ${command}`;
  expect(calls).toEqual(["RELOAD", "RECONNECT app"].map(told));
  const killing = await run("pgbouncer-repoint.sh", "db3", { DATABASES_INI: file, PGBOUNCER: "console", STALE_SESSIONS: "kill" });
  expect(killing.calls.slice(2)).toEqual(["RELOAD", "KILL app", "RESUME app"].map(told));
});

test.each(["db2; rm -rf /", "db2\nadmin_users = anyone", "", "$(id)"])("recipes refuse %j as a host", async (host) => {
  const file = join(dir, "databases.ini");
  expect((await run("pgbouncer-repoint.sh", host, { DATABASES_INI: file, DBLB_PRIMARY_PORT: host === "" ? "" : "1" })).status).toBe(1);
  await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
  expect((await run("move-dns.sh", host, { NAME: "n.", SERVER: "ns", KEY_FILE: "k" })).status).toBe(1);
});

test("the virtual address is taken by the host of the primary, and given up by any other that holds it", async () => {
  const env = { SELF: "db1", VIP: "192.0.2.100/24" };
  const { calls } = await run("move-vip.sh", "db1", env);
  expect(calls).toEqual(["ip address replace 192.0.2.100/24 dev eth0", "arping -q -c 3 -A -I eth0 192.0.2.100"]);
  const look = "ip -oneline address show dev eth0";
  const former = await run("move-vip.sh", "db2", { ...env, HELD: "192.0.2.100/24" });
  expect(former.calls.slice(2)).toEqual([look, "ip address delete 192.0.2.100/24 dev eth0"]);
  const bystander = await run("move-vip.sh", "db2", { ...env, SELF: "db3", HELD: "192.0.2.10/24" });
  expect([bystander.status, bystander.calls.slice(4)]).toEqual([0, [look]]);
});

test("the DNS name leads to an address or to a name", async () => {
  const env = { NAME: "primary.example.com.", SERVER: "ns.example.com", KEY_FILE: "/key" };
  const { calls } = await run("move-dns.sh", "db2.example.com", env);
  const update = ["nsupdate -k /key", "server ns.example.com", `update delete ${env.NAME} A`, `update delete ${env.NAME} CNAME`];
  expect(calls).toEqual([...update, `update add ${env.NAME} 5 CNAME db2.example.com.`, "send"]);
  const numeric = await run("move-dns.sh", "192.0.2.2", { ...env, TTL: "1" });
  expect(numeric.calls.slice(6)).toEqual([...update, `update add ${env.NAME} 1 A 192.0.2.2`, "send"]);
});
