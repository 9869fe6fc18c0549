import { link, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { type Clock, CodedError, type Random, startDeadline } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import { ensureDataDirectory } from "./data-directory.ts";
import { type Layout, readPostmaster } from "./layout.ts";
import { processInfo } from "./process-info.ts";
import type { Runner } from "./runner.ts";

/** What the launcher works with. */
export interface PostmasterDeps {
  readonly runner: Runner;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Whether the process of the pid file is this data directory's server, and not another that got its number. */
async function isOurs(layout: Layout, pid: number): Promise<boolean> {
  const info = await processInfo(pid);
  return info !== undefined && /postgres/.test(info.command) && info.command.includes(layout.data);
}

/** The port of the running server; undefined where none runs or it is not ready. */
export async function runningPort(layout: Layout): Promise<number | undefined> {
  const postmaster = await readPostmaster(layout);
  if (!postmaster?.ready || !(await isOurs(layout, postmaster.pid))) return undefined;
  return (await accepts(postmaster.port)) ? postmaster.port : undefined;
}

/**
 * Finds the server of a data directory, or starts it, whatever state a crash or a racer left. Keeps trying until `signal`
 * aborts. Errors: `database_unavailable`.
 */
export async function ensureRunning(layout: Layout, deps: PostmasterDeps, signal: AbortSignal): Promise<number> {
  await ensureDataDirectory(layout, deps);
  let problem = "";
  for (;;) {
    if (signal.aborted) {
      throw new CodedError("database_unavailable", "the embedded PostgreSQL does not start", { output: problem, hint: "set database.url" });
    }
    const port = await runningPort(layout);
    if (port !== undefined) return port;
    const postmaster = await readPostmaster(layout);
    if (postmaster && (await isOurs(layout, postmaster.pid))) {
      problem = "starting or recovering";
    } else {
      // A dead, buried or unrelated process: PostgreSQL itself would refuse to start over a number that is in use.
      if (postmaster) await removeStale(layout, postmaster.pid);
      problem = await start(layout, deps);
      if (problem === "") continue;
      deps.logger.debug("embedded database did not start at once", { output: problem });
    }
    await deps.clock.sleep(100 + deps.random.int(100), signal).catch(() => {});
  }
}

/** Removes the pid file if it still names `pid`: a racer may have started a server since it was read. */
async function removeStale(layout: Layout, pid: number): Promise<void> {
  const file = join(layout.data, "postmaster.pid");
  const aside = `${file}.${process.pid}`;
  try {
    await rename(file, aside);
    if (Number((await readFile(aside, "utf8")).split("\n")[0]) !== pid) await link(aside, file);
  } catch {
    // Gone, or there again: the next round sees which.
  } finally {
    await rm(aside, { force: true });
  }
}

const stopTimeoutMs = 30_000;

/** Stops the server and waits until it is gone. */
export async function stopServer(layout: Layout, deps: PostmasterDeps): Promise<void> {
  const postmaster = await readPostmaster(layout);
  if (!postmaster) return;
  const result = await deps.runner.run("pg_ctl", ["-D", layout.data, "-m", "fast", "-W", "stop"]);
  if (result.code !== 0) deps.logger.warn("embedded database could not be told to stop", { output: result.output });
  using deadline = startDeadline(deps.clock, stopTimeoutMs);
  // pg_ctl would wait for the pid file to go, which the next server may have written by then.
  while ((await isOurs(layout, postmaster.pid)) && !deadline.signal.aborted) await deps.clock.sleep(20, deadline.signal).catch(() => {});
  if (deadline.signal.aborted) deps.logger.warn("embedded database did not stop", { pid: postmaster.pid });
}

async function start(layout: Layout, { runner }: PostmasterDeps): Promise<string> {
  const log = await open(layout.log, "a", 0o600);
  await log.close();
  await runner.handOver(layout.log);
  const result = await runner.run("pg_ctl", [
    ...["-D", layout.data, "-w", "-t", "10", "-l", layout.log],
    ...["-o", `-p ${await choosePort(layout)}`, "start"],
  ]);
  return result.code === 0 ? "" : result.output;
}

async function choosePort(layout: Layout): Promise<number> {
  const before = Number(await readFile(layout.portFile, "utf8").catch(() => ""));
  if (Number.isInteger(before) && before > 0 && (await isFree(before))) return before;
  const port = await freePort();
  const temporary = `${layout.portFile}.${process.pid}`;
  await writeFile(temporary, `${port}\n`, { mode: 0o600 });
  await rename(temporary, layout.portFile);
  return port;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
