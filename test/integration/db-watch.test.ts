import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted, systemClock } from "../../src/base/index.ts";
import { processInfo } from "../../src/catalog/embedded/process-info.ts";
import { hookRunner } from "../../src/cli/db/run-hook.ts";
import { loadConfig } from "../../src/config/index.ts";
import { watchDatabase } from "../../src/server/index.ts";
import { type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";
import { until } from "../support/until.ts";

test("the watch names a promoted replica, and no primary while there is none", async () => {
  await using cluster = await startPostgresCluster({ replicas: 1 });
  const replica = cluster.replicas[0] as PostgresServer;
  const config = loadConfig({ flags: { database: [cluster.primary.url, replica.url] }, env: {}, readFile: () => "", cwd: "/" });
  await using watched = await watchDatabase(config);
  await until("the first one", () => watched.primary()?.port === cluster.primary.port);
  expect(watched.primary()).toEqual({ name: `127.0.0.1:${cluster.primary.port}`, host: "127.0.0.1", port: cluster.primary.port });
  await cluster.primary.stop();
  await until("none", () => watched.primary() === undefined);
  await replica.promote();
  await until("the new one", () => watched.primary()?.port === replica.port);
});

test("what the environment holds is never read by the shell, and the command's end is told", async () => {
  await using dir = await tempDir();
  const run = hookRunner(systemClock);
  const file = join(dir.path, "said");
  const value = `$(touch ${dir.path}/broken); "'\`id\``;
  expect(await run(`printf %s "$DBLB_PRIMARY" > "${file}"`, { DBLB_PRIMARY: value, PATH: process.env["PATH"] }, neverAborted)).toBe(0);
  expect(await readFile(file, "utf8")).toBe(value);
  await expect(readFile(join(dir.path, "broken"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await run("exit 3", {}, neverAborted)).toBe(3);
});

test("a command that is stopped ends with all that it started", async () => {
  const stop = new AbortController();
  const running = hookRunner(systemClock)("/bin/sleep 600 & /bin/sleep 600", {}, stop.signal);
  stop.abort(new Error("stop"));
  expect(await running).toBe("ended by SIGTERM");
});

test("what a stopped command started ends with it, even if it ignores the wish", async () => {
  await using dir = await tempDir();
  const stop = new AbortController();
  const file = join(dir.path, "pid");
  const deaf = `(trap '' TERM; echo ready > "${file}"; exec /bin/sleep 600) & echo $! > "${file}.id"; wait`;
  const running = hookRunner(systemClock)(deaf, {}, stop.signal);
  await until("the start", async () => (await readFile(file, "utf8").catch(() => "")) === "ready\n");
  const pid = Number(await readFile(`${file}.id`, "utf8"));
  expect(await processInfo(pid)).toBeDefined();
  stop.abort(new Error("stop"));
  expect(await running).toBe("ended by SIGTERM");
  await until("its end", async () => (await processInfo(pid)) === undefined);
});
