import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CodedError, Mutex, neverAborted } from "../base/index.ts";
import type { ChildExit, SpawnedChild, SpawnRequest } from "./spawner.ts";
import type { HelperReport, HelperRequest } from "./spawner-protocol.ts";

interface Job {
  readonly onStderr: (chunk: Uint8Array) => void;
  readonly onExit: (exit: ChildExit) => void;
  pid: number | undefined;
}

/** The path of a unix socket may have about 100 bytes. */
const maxParentBytes = 75;

/** One life of the spawn helper. */
export class HelperProcess {
  readonly #process: ChildProcess;
  readonly #dir: string;
  readonly #jobs = new Map<number, Job>();
  readonly #connecting = new Mutex();
  #nextId = 1;
  #alive = true;
  /** Resolves when the helper is gone and its directory removed. */
  readonly gone: Promise<void>;

  private constructor(child: ChildProcess, dir: string) {
    this.#process = child;
    this.#dir = dir;
    child.on("message", (report: HelperReport) => this.#onReport(report));
    this.gone = new Promise((resolve) => {
      child.on("exit", () => {
        this.#onGone();
        rm(dir, { recursive: true, force: true }).then(resolve, resolve);
      });
    });
  }

  /** Starts a helper from its built file and waits until it listens. Errors: `git_failed`. */
  static async start({ entryPath, dir: wantedDir }: { readonly entryPath: string; readonly dir: string }): Promise<HelperProcess> {
    const parent = [wantedDir, tmpdir()].find((path) => Buffer.byteLength(path) <= maxParentBytes) ?? "/tmp";
    const dir = await mkdtemp(join(parent, "gitaly-spawner-"));
    const child = fork(entryPath, [join(dir, "s")], {
      // Of its own process group, so that a Ctrl-C meant for the node does not end it first.
      detached: true,
      execArgv: ["--max-old-space-size=64", "--max-semi-space-size=1"],
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const helper = new HelperProcess(child, dir);
    const ready = await new Promise<boolean>((resolve) => {
      child.once("message", () => resolve(true));
      child.once("error", () => resolve(false));
      child.once("exit", () => resolve(false));
    });
    if (!ready) {
      helper.#onGone();
      await rm(dir, { recursive: true, force: true });
      throw new CodedError("git_failed", "spawn helper does not start", { exitCode: child.exitCode });
    }
    child.unref();
    child.channel?.unref();
    return helper;
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Errors: `git_failed` when the helper is gone. */
  async spawn(request: SpawnRequest, onStderr: ((chunk: Uint8Array) => void) | undefined): Promise<SpawnedChild> {
    const id = this.#nextId++;
    let onExit: (exit: ChildExit) => void = () => {};
    const exited = new Promise<ChildExit>((resolve) => {
      onExit = resolve;
    });
    // The helper pairs connections with requests by their order, so one pair must be complete before the next begins.
    const [stdin, stdout] = await this.#connecting.run(async () => {
      // One socket for both would lose what the child says when it stops listening: a failed write destroys a socket.
      const connected = await this.#connectPair();
      this.#jobs.set(id, { onStderr: onStderr ?? (() => {}), onExit, pid: undefined });
      if (this.#jobs.size === 1) this.#process.channel?.ref();
      this.#tell({ type: "spawn", id, request, wantsStderr: onStderr !== undefined });
      return connected;
    }, neverAborted);
    return { stdin, stdout, exited, end: (stage) => this.#tell({ type: "end", id, stage }) };
  }

  /** Ends the helper and everything it runs. */
  async stop(): Promise<void> {
    // From here on somebody waits for its end.
    if (this.#alive) this.#process.ref();
    if (this.#process.connected) this.#process.disconnect();
    await this.gone;
  }

  async #connectPair(): Promise<readonly [Socket, Socket]> {
    const stdin = await this.#connect();
    try {
      return [stdin, await this.#connect()];
    } catch (error) {
      // Half a pair would be taken for half of the next one.
      stdin.destroy();
      this.#process.kill("SIGKILL");
      throw error;
    }
  }

  async #connect(): Promise<Socket> {
    if (!this.#alive) throw new CodedError("git_failed", "spawn helper is gone");
    const socket = connect({ path: join(this.#dir, "s"), allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", (error) => reject(new CodedError("git_failed", "spawn helper does not answer", {}, { cause: error })));
    });
    // A child may end before it has read everything; its exit says so.
    socket.on("error", () => {});
    return socket;
  }

  #tell(request: HelperRequest): void {
    if (this.#process.connected) this.#process.send(request, () => {});
  }

  #onReport(report: HelperReport): void {
    if (report.type === "ready") return;
    const job = this.#jobs.get(report.id);
    if (!job) return;
    if (report.type === "started") job.pid = report.pid;
    else if (report.type === "stderr") job.onStderr(Buffer.from(report.chunk, "latin1"));
    else {
      // What is undefined does not travel.
      const { code, signal, stderr = "", problem } = report.exit;
      this.#finish(report.id, job, { code, signal, stderr, problem });
    }
  }

  #finish(id: number, job: Job, exit: ChildExit): void {
    this.#jobs.delete(id);
    if (this.#jobs.size === 0) this.#process.channel?.unref();
    job.onExit(exit);
  }

  #onGone(): void {
    this.#alive = false;
    for (const [id, job] of this.#jobs) {
      if (job.pid !== undefined) killGroup(job.pid);
      this.#finish(id, job, { code: undefined, signal: undefined, stderr: "", problem: "spawn helper is gone" });
    }
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
