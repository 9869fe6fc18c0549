import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "./temp-dir.ts";
import { until } from "./until.ts";

/** The newest of Debian's PostgreSQL servers; it is the one that its extensions are built for. */
export const postgresBin = ["15", "16", "17"]
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .find((dir) => existsSync(join(dir, "postgres")));
const path = [...(postgresBin ? [postgresBin] : []), "/usr/bin", "/bin", "/usr/sbin"];

/** Why these programs cannot be run on this machine; undefined where they can. */
export function programsMissing(programs: readonly string[]): string | undefined {
  const missing = programs.filter((name) => !path.some((dir) => existsSync(join(dir, name))));
  if (missing.length > 0) return `not installed: ${missing.join(", ")}`;
  return process.getuid?.() === 0 && !account() ? "there is no account postgres" : undefined;
}

/** A program that runs. */
export interface PeerProcess {
  readonly child: ChildProcess;
  /** The end of what it said. */
  readonly output: string;
  /** Kills it and all that it started, as a crash of its machine would. */
  killTree(): void;
}

/**
 * Runs a peer's programs in a directory of their own, without anything of the caller's environment. Root runs them as `postgres`:
 * they refuse to be root. Whatever they started is killed at the end.
 */
export class PeerHome implements AsyncDisposable {
  readonly dir: string;
  readonly #temp: AsyncDisposable;
  readonly #identity = process.getuid?.() === 0 ? (account() ?? {}) : {};
  readonly #env: NodeJS.ProcessEnv;
  readonly #onExit = () => killAll(pidsMentioning(this.dir));

  private constructor(temp: { readonly path: string } & AsyncDisposable) {
    this.#temp = temp;
    this.dir = temp.path;
    this.#env = {
      PATH: path.join(":"),
      LC_ALL: "C.UTF-8",
      HOME: this.dir,
      XDG_RUNTIME_DIR: this.makeDir("run"),
      XDG_CONFIG_HOME: this.makeDir("config"),
      XDG_DATA_HOME: this.makeDir("share"),
    };
    this.#handOver(this.dir);
    process.once("exit", this.#onExit);
  }

  static async open(): Promise<PeerHome> {
    return new PeerHome(await tempDir());
  }

  /** Makes a directory that the programs may write to. */
  makeDir(name: string): string {
    const dir = join(this.dir, name);
    mkdirSync(dir, { mode: 0o700 });
    this.#handOver(dir);
    return dir;
  }

  /** Writes a file that the programs may read; answers where. */
  async write(name: string, text: string): Promise<string> {
    const file = join(this.dir, name);
    await writeFile(file, text);
    this.#handOver(file);
    return file;
  }

  /** Runs a program to its end; fails with what it said. */
  run(program: string, args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { ...this.#identity, cwd: this.dir, env: this.#env, timeout: 60_000 };
      execFile(program, [...args], options, (error, stdout, stderr) => {
        if (error) reject(new Error(`${program} ${args.join(" ")}: ${error.message}\n${stdout}${stderr}`.slice(-4000)));
        else resolve(stdout);
      });
    });
  }

  /** Starts a program that stays. */
  spawn(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): PeerProcess {
    const options = { ...this.#identity, cwd: this.dir, env: { ...this.#env, ...env } };
    const child = spawn(program, [...args], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const started = {
      child,
      output: "",
      killTree: () => {
        if (child.pid === undefined || child.exitCode !== null) return;
        // Nothing may be started anew in between.
        child.kill("SIGSTOP");
        killAll([child.pid]);
      },
    };
    const collect = (chunk: Buffer) => {
      started.output = (started.output + chunk.toString()).slice(-8000);
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.on("error", (error) => collect(Buffer.from(error.message)));
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#onExit);
    await until("no process of the peer is left", () => {
      const pids = pidsMentioning(this.dir);
      killAll(pids);
      return pids.length === 0;
    });
    await this.#temp[Symbol.asyncDispose]();
  }

  #handOver(file: string): void {
    if (this.#identity.uid !== undefined) chownSync(file, this.#identity.uid, this.#identity.gid ?? 0);
  }
}

function account(): { readonly uid?: number; readonly gid?: number } | undefined {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly dead: boolean;
}

function processes(): ProcessEntry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, state, parent] = /\) (\S) (\d+) /.exec(readFileSync(`/proc/${name}/stat`, "latin1")) ?? [];
        return [{ pid: Number(name), parent: Number(parent), dead: state === "Z" || state === "X" }];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}

function pidsMentioning(dir: string): number[] {
  const mentions = (pid: number, what: string) => {
    try {
      return readFileSync(`/proc/${pid}/${what}`, "latin1").includes(dir);
    } catch {
      return false;
    }
  };
  return processes().flatMap(({ pid, dead }) =>
    !dead && pid !== process.pid && (mentions(pid, "cmdline") || mentions(pid, "environ")) ? [pid] : [],
  );
}

/** Kills these processes and their descendants. */
function killAll(pids: readonly number[]): void {
  const all = processes();
  const doomed = new Set(pids);
  for (let before = -1; before !== doomed.size; ) {
    before = doomed.size;
    for (const { pid, parent } of all) if (doomed.has(parent)) doomed.add(pid);
  }
  for (const pid of doomed) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}
