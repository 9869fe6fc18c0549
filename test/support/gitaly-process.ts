import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../src/base/index.ts";

const executable = join(packageRoot, "cmd", "gitaly", "gitaly.js");

export interface ReadyFacts {
  readonly node: string;
  readonly pid: number;
  readonly grpc: string;
  readonly http: string;
  readonly gossip: string;
}

/** A node started as its user would start it. Disposing it kills it. */
export interface GitalyProcess extends AsyncDisposable {
  readonly dataDir: string;
  readonly child: ChildProcess;
  /** All it printed so far. */
  readonly output: { stdout: string; stderr: string };
  /** Resolves when the ready file is there. Rejects when the process ends before, or after 60 s. */
  ready(): Promise<ReadyFacts>;
  /** Sends a signal and resolves with the exit status or signal name. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

/** Starts `gitaly serve` on free ports with a data directory of its own. */
export function startGitaly(dataDir: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): GitalyProcess {
  mkdirSync(dataDir, { recursive: true });
  const readyFile = join(dataDir, `ready.${process.hrtime.bigint()}.json`);
  const ports = ["--listen-addr", "--http-addr", "--gossip-addr"].flatMap((flag) => (args.includes(flag) ? [] : [flag, "127.0.0.1:0"]));
  const child = spawn(process.execPath, [executable, "serve", "--data-dir", dataDir, "--ready-file", readyFile, ...ports, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exited = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  return {
    dataDir,
    child,
    output,
    stop,
    ready: async () => {
      const deadline = process.hrtime.bigint() + 60_000_000_000n;
      // Another process writes the file; looking again is the only way to see it.
      while (!existsSync(readyFile)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`gitaly serve ended: ${output.stdout}${output.stderr}`);
        if (process.hrtime.bigint() > deadline) throw new Error(`gitaly serve is not ready: ${output.stdout}${output.stderr}`);
        await delay(20);
      }
      return JSON.parse(readFileSync(readyFile, "utf8")) as ReadyFacts;
    },
    [Symbol.asyncDispose]: async () => {
      await stop("SIGKILL");
    },
  };
}

/** Runs any `gitaly` command to its end. */
export async function gitaly(
  args: readonly string[],
  options: { env?: Readonly<Record<string, string>> } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [executable, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}

/** Removes the data directories below `root` and ends the embedded databases there: by design they outlive nodes that were killed. */
export async function removeDataDirs(root: string): Promise<void> {
  for (const name of readdirSync(root)) {
    try {
      process.kill(Number.parseInt(readFileSync(join(root, name, "postgres", "postmaster.pid"), "utf8"), 10), "SIGQUIT");
    } catch {
      // None was started there, or it has ended.
    }
  }
  // What still ends, or an initdb that lost its node, may write for a moment.
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
