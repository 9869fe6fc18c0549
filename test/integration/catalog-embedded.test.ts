import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { startEmbeddedPostgres } from "../../src/catalog/index.ts";
import { tempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

const pidFile = (dir: string) => join(dir, "postgres", "postmaster.pid");
const pidOf = async (dir: string) => Number((await readFile(pidFile(dir), "utf8")).split("\n")[0]);
const isRunning = async (dir: string) =>
  pidOf(dir).then(
    (pid) => process.kill(pid, 0),
    () => false,
  );

async function ask(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that attaches, prints its URL and waits for a line on stdin before it leaves. */
async function startNode(dir: string): Promise<{ child: ChildProcess; url: string; leave(): Promise<void> }> {
  const script = join(packageRoot, "test/support/postgres-attach.main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", script, dir], { cwd: packageRoot, stdio: ["pipe", "pipe", "inherit"] });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once("exit", (code) => reject(new Error(`the node ended with ${code}`)));
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return {
    child,
    url,
    leave: async () => {
      child.stdin.end("leave\n");
      await exited;
    },
  };
}

test("a cold start makes a database that only its password opens, and the last user stops it", async () => {
  await using dir = await tempDir();
  {
    await using embedded = await startEmbeddedPostgres({ dir: dir.path });
    expect(await ask(embedded.url(), "SELECT current_user AS u, current_database() AS d, current_setting('fsync') AS f")).toEqual([
      { u: "gitaly", d: "gitaly", f: "on" },
    ]);
    await expect(ask(embedded.url().replace(/:[^:@/]+@/, ":wrong@"), "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
    expect((await stat(join(dir.path, "postgres.password"))).mode & 0o777).toBe(0o600);
    const password = (await readFile(join(dir.path, "postgres.password"), "utf8")).trim();
    expect(await readFile(join(dir.path, "postgres.log"), "utf8")).not.toContain(password);
    expect(await readFile(`/proc/${await pidOf(dir.path)}/cmdline`, "utf8").catch(() => "")).not.toContain(password);
    await ask(embedded.url(), "CREATE TABLE kept (a int)");
  }
  expect(await isRunning(dir.path)).toBe(false);
  await using again = await startEmbeddedPostgres({ dir: dir.path });
  expect(await ask(again.url(), "SELECT * FROM kept")).toEqual([]);
});

test("three that start at once share one server; it runs until the last of them leaves", async () => {
  await using dir = await tempDir();
  const nodes = await Promise.all([0, 1, 2].map(() => startEmbeddedPostgres({ dir: dir.path })));
  expect(new Set(nodes.map((node) => node.url())).size).toBe(1);
  const leftovers = (await readdir(dir.path)).filter((name) => /^postgres\.\d/.test(name));
  expect(leftovers).toEqual([]);
  await nodes[0]?.[Symbol.asyncDispose]();
  await nodes[1]?.[Symbol.asyncDispose]();
  expect(await ask(nodes[2]?.url() ?? "", "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await nodes[2]?.[Symbol.asyncDispose]();
  expect(await isRunning(dir.path)).toBe(false);
});

test("all that leave and come at once end with a working server or none", async () => {
  await using dir = await tempDir();
  for (let round = 0; round < 3; round++) {
    const before = await startEmbeddedPostgres({ dir: dir.path });
    const [after] = await Promise.all([startEmbeddedPostgres({ dir: dir.path }), before[Symbol.asyncDispose]()]);
    expect(await ask(after.url(), "SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await after[Symbol.asyncDispose]();
    expect(await isRunning(dir.path)).toBe(false);
  }
});

test("a server that is killed comes back by itself, on its port, with what was committed", async () => {
  await using dir = await tempDir();
  await using embedded = await startEmbeddedPostgres({ dir: dir.path, watchIntervalMs: 50 });
  await using second = await startEmbeddedPostgres({ dir: dir.path, watchIntervalMs: 50 });
  await ask(embedded.url(), "CREATE TABLE kept AS SELECT 7 AS a");
  const before = embedded.url();
  const pid = await pidOf(dir.path);
  process.kill(pid, "SIGKILL");
  await until("another server runs", async () => (await pidOf(dir.path).catch(() => pid)) !== pid);
  await until("the catalog answers", () =>
    ask(embedded.url(), "SELECT a FROM kept").then(
      (rows) => rows[0]?.["a"] === 7,
      () => false,
    ),
  );
  expect(embedded.url()).toBe(before);
  expect(second.url()).toBe(before);
});

test("a pid file left by a crash, or naming a stranger, does not stop the start", async () => {
  await using dir = await tempDir();
  {
    await using _first = await startEmbeddedPostgres({ dir: dir.path });
  }
  const stranger = process.pid;
  for (const pid of [2 ** 22 - 3, stranger]) {
    await writeFile(pidFile(dir.path), `${pid}\n${join(dir.path, "postgres")}\n1700000000\n5432\n\n127.0.0.1\n  12345  1\nready   \n`);
    await using embedded = await startEmbeddedPostgres({ dir: dir.path });
    expect(await ask(embedded.url(), "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  }
});

test("a node that is killed leaves the server to the others, and its note does not keep it running for ever", async () => {
  await using dir = await tempDir();
  const killed = await startNode(dir.path);
  const orderly = await startNode(dir.path);
  expect(orderly.url).toBe(killed.url);
  killed.child.kill("SIGKILL");
  await new Promise((resolve) => killed.child.once("exit", resolve));
  expect(await ask(orderly.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await orderly.leave();
  expect(await isRunning(dir.path)).toBe(false);
});

test("a server whose only node was killed runs on, and the next start attaches to it", async () => {
  await using dir = await tempDir();
  const killed = await startNode(dir.path);
  const pid = await pidOf(dir.path);
  killed.child.kill("SIGKILL");
  await new Promise((resolve) => killed.child.once("exit", resolve));
  expect(await ask(killed.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await using _next = await startEmbeddedPostgres({ dir: dir.path });
  expect(await pidOf(dir.path)).toBe(pid);
});

test.runIf(process.getuid?.() === 0)("root without user namespaces runs it as the account nobody", async () => {
  await using dir = await tempDir();
  await using embedded = await startEmbeddedPostgres({ dir: dir.path, runAs: "nobody" });
  expect(await ask(embedded.url(), "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  expect((await stat(join(dir.path, "postgres"))).uid).toBe(65534);
});

test("what starts that were killed left behind is swept, and nothing that lives is", async () => {
  await using dir = await tempDir();
  const child = spawn("true");
  await new Promise((resolve) => child.once("exit", resolve));
  const dead = [`postgres.${child.pid}.0123abcd`, `postgres.password.${child.pid}.0123abcd`, `postgres.password.new.${child.pid}.0123abcd`];
  const living = [`postgres.${process.pid}.0123abcd`, "postgres.backup", `postgres.${child.pid}.old`];
  for (const name of [...dead, ...living]) {
    await mkdir(join(dir.path, name));
    await writeFile(join(dir.path, name, "PG_VERSION"), "17");
  }
  await using _embedded = await startEmbeddedPostgres({ dir: dir.path });
  const names = await readdir(dir.path);
  expect(names.filter((name) => dead.includes(name))).toEqual([]);
  expect(names).toEqual(expect.arrayContaining(living));
});

test.each([0, 1500])("a start that is given up after %d ms leaves no server that nobody uses", async (afterMs) => {
  await using dir = await tempDir();
  const stop = new AbortController();
  const started = startEmbeddedPostgres({ dir: dir.path }, {}, stop.signal);
  setTimeout(() => stop.abort(new Error("enough")), afterMs);
  const embedded = await started.catch(() => undefined);
  await embedded?.[Symbol.asyncDispose]();
  await until("the server has ended", async () => !(await isRunning(dir.path)));
});
