import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";
import { tempDir } from "./temp-dir.ts";

/** A Redis server on loopback that keeps nothing on disk. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** A client of the tests' own. */
  readonly client: Redis;
  /** Stops it as a crash would. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Freezes or thaws the process: connections stand, nothing is answered. */
  freeze(frozen: boolean): void;
}

const program = "redis-server";

/** Why no server can be started on this machine; undefined where one can. */
export function redisMissing(): string | undefined {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
  return dirs.some((dir) => existsSync(join(dir, program))) ? undefined : `${program} is not installed`;
}

/** Starts a server on a free port. */
export async function startRedis(): Promise<RedisServer> {
  const dir = await tempDir();
  const port = await freePort();
  let child: ChildProcess | undefined;
  const killed = () => void child?.kill("SIGKILL");
  process.once("exit", killed);
  const start = async () => {
    const started = spawn(program, ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", dir.path], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    child = started;
    await new Promise<void>((resolve, reject) => {
      let log = "";
      started.stdout?.on("data", (chunk) => {
        log += chunk;
        if (log.includes("Ready to accept connections")) resolve();
      });
      started.once("error", reject);
      started.once("exit", () => reject(new Error(`redis-server ended: ${log}`)));
    });
  };
  const stop = async () => {
    const stopped = child;
    child = undefined;
    if (!stopped || stopped.exitCode !== null) return;
    const exited = new Promise((resolve) => stopped.once("exit", resolve));
    stopped.kill("SIGKILL");
    await exited;
  };
  await start();
  const client = new Redis(port, "127.0.0.1", { retryStrategy: () => 20 });
  client.on("error", () => {});
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    client,
    start,
    stop,
    freeze: (frozen) => void child?.kill(frozen ? "SIGSTOP" : "SIGCONT"),
    [Symbol.asyncDispose]: async () => {
      client.disconnect();
      await stop();
      process.off("exit", killed);
      await dir[Symbol.asyncDispose]();
    },
  };
}
