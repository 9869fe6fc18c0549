import type { Readable, Writable } from "node:stream";
import { type Clock, CodedError, type Deadline, Semaphore, startDeadline } from "../base/index.ts";
import type { Counter, Gauge, Histogram, Metrics } from "../observability/index.ts";
import { commandLine, type GitCommand } from "./command-table.ts";
import { type GitDirectories, gitEnvironment } from "./git-environment.ts";
import type { ChildExit, EndStage, SpawnedChild, Spawner } from "./spawner.ts";

export interface ProcessGateOptions {
  /** Path or name of the git program; default "git". */
  readonly binPath: string;
  /** Children of single calls that run at once; default 64. Further calls wait. */
  readonly maxChildren: number;
  /** Calls that may wait for a child; default 512. Further calls fail with `limit_exceeded`. */
  readonly maxWaiting: number;
  /** How long one child may run; default 6 h. Long-lived children have no such limit. */
  readonly deadlineMs: number;
  /** From the gentle end of a child to SIGTERM for its group; default 500 ms. */
  readonly termAfterMs: number;
  /** From the gentle end of a child to SIGKILL for its group; default 3 s. */
  readonly killAfterMs: number;
}

/** The gate's options where nothing else is said. */
export const defaultProcessGateOptions: ProcessGateOptions = {
  binPath: "git",
  maxChildren: 64,
  maxWaiting: 512,
  deadlineMs: 21_600_000,
  termAfterMs: 500,
  killAfterMs: 3000,
};

export interface ProcessGateDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly spawner: Spawner;
}

/** A git command, what it may see, and what it is given. */
export interface GitInvocation {
  readonly command: GitCommand;
  readonly flags: readonly string[];
  /** An absolute path after the flags. */
  readonly path?: string;
  readonly directories?: GitDirectories;
  readonly protocol?: string;
  readonly onStderr?: (chunk: Uint8Array) => void;
  /** Serves many calls: it has no deadline and takes no place among the children of single calls; whoever starts it bounds how many there are. */
  readonly longLived?: boolean;
}

/** A git child that lives no longer than its call: disposing ends it and waits until it is reaped. */
export interface GitChild extends AsyncDisposable {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<ChildExit>;
}

/** The one place where git children start. */
export class ProcessGate {
  readonly #options: ProcessGateOptions;
  readonly #deps: ProcessGateDeps;
  readonly #places: Semaphore;
  readonly #running: Gauge;
  readonly #started: Counter;
  readonly #waitingSeconds: Histogram;
  readonly #forkingSeconds: Histogram;

  constructor(options: ProcessGateOptions, deps: ProcessGateDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#places = new Semaphore(options.maxChildren, options.maxWaiting);
    const buckets = [0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 10];
    this.#running = deps.metrics.gauge("gitaly_commands_running", "Git children that run now");
    this.#started = deps.metrics.counter("gitaly_cluster_git_commands_total", "Git children started", ["command"]);
    this.#waitingSeconds = deps.metrics.histogram("gitaly_spawn_waiting_time_seconds", "Wait for a place to run a git child", [], buckets);
    this.#forkingSeconds = deps.metrics.histogram("gitaly_spawn_forking_time_seconds", "Time to start a git child", [], buckets);
  }

  /** Starts a child; `signal` ends it. Errors: `limit_exceeded`, `git_failed`, the signal's reason. */
  async start(invocation: GitInvocation, signal: AbortSignal): Promise<GitChild> {
    const { longLived } = invocation;
    const { args, config } = commandLine(invocation.command, invocation.flags, invocation.path);
    const { clock } = this.#deps;
    const askedMs = clock.monotonic();
    const place = longLived ? undefined : await this.#places.acquire(signal);
    const startedMs = clock.monotonic();
    this.#waitingSeconds.observe((startedMs - askedMs) / 1000);
    try {
      signal.throwIfAborted();
      const env = gitEnvironment({
        directories: invocation.directories,
        setGitDir: invocation.path === undefined || invocation.command === "index-pack",
        protocol: invocation.protocol,
        config,
      });
      const request = { file: this.#options.binPath, args, env, cwd: invocation.directories?.gitDir ?? "/" };
      const child = await this.#deps.spawner.spawn(request, invocation.onStderr);
      this.#forkingSeconds.observe((clock.monotonic() - startedMs) / 1000);
      this.#started.add(1, { command: invocation.command });
      this.#running.add(1);
      void child.exited.then(() => this.#running.add(-1));
      const deadline = longLived ? undefined : startDeadline(clock, this.#options.deadlineMs, signal);
      return new GatedChild(this.#options, { clock, child, place, deadline, signal: deadline?.signal ?? signal });
    } catch (error) {
      place?.[Symbol.dispose]();
      throw error;
    }
  }
}

interface GatedChildDeps {
  readonly clock: Clock;
  readonly child: SpawnedChild;
  readonly place: Disposable | undefined;
  readonly deadline: Deadline | undefined;
  readonly signal: AbortSignal;
}

class GatedChild implements GitChild {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<ChildExit>;
  readonly #options: ProcessGateOptions;
  readonly #deps: GatedChildDeps;
  readonly #timers: Disposable[] = [];
  readonly #onAbort = () => this.#end();
  #ending = false;
  #gone = false;

  constructor(options: ProcessGateOptions, deps: GatedChildDeps) {
    const { child, signal } = deps;
    this.#options = options;
    this.#deps = deps;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.exited = child.exited.then((exit) =>
      deps.deadline && isPast(deps.deadline) ? { ...exit, code: undefined, problem: "deadline passed" } : exit,
    );
    void child.exited.then(() => {
      this.#gone = true;
      signal.removeEventListener("abort", this.#onAbort);
      deps.deadline?.[Symbol.dispose]();
      for (const timer of this.#timers) timer[Symbol.dispose]();
      deps.place?.[Symbol.dispose]();
    });
    if (signal.aborted) this.#end();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#gone) {
      this.#end();
      // A child that waits for room in its stdout cannot see that its own children are gone.
      this.stdout.resume();
      await this.exited;
    }
    this.stdin.destroy();
    this.stdout.destroy();
  }

  #end(): void {
    if (this.#ending || this.#gone) return;
    this.#ending = true;
    const { clock, child } = this.#deps;
    const later = (ms: number, stage: EndStage) => this.#timers.push(clock.timer(ms, () => child.end(stage)));
    child.end("gentle");
    later(this.#options.termAfterMs, "terminate");
    later(this.#options.killAfterMs, "kill");
  }
}

/** True where the deadline itself ended the work, and not the caller. */
function isPast({ signal }: Deadline): boolean {
  return signal.aborted && CodedError.is(signal.reason, "deadline_exceeded");
}

/** The error for a child that failed; `command` and its last words go into the fields. */
export function gitFailed(command: GitCommand, exit: ChildExit): CodedError {
  const { code, signal, problem } = exit;
  return new CodedError("git_failed", "git command failed", { command, exitCode: code, signal, problem, stderr: exit.stderr.trim() });
}
