import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What a program of gossip members says without being asked. */
export interface AgentEvent {
  readonly event: string;
  /** The member of the program that says it. */
  readonly node: string;
  /** Unix time, taken in the program. */
  readonly atMs: number;
  /** Whom it is about. */
  readonly member?: string;
  readonly addr?: string;
  /** The address that was not kept, of a conflict. */
  readonly other?: string;
  /** Hexadecimal. */
  readonly meta?: string;
  /** Hexadecimal. */
  readonly payload?: string;
  readonly line?: string;
  readonly bytes?: number;
  readonly rttMs?: number;
}

interface Reply {
  readonly id: number;
  readonly ok?: unknown;
  readonly error?: string;
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A runner that gives up must not leave them. */
const running = new Set<ChildProcessWithoutNullStreams>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Longest time for a reply. */
const replyTimeoutMs = 60_000;

/** A program that runs gossip members and speaks JSON lines on its standard streams. Disposing it kills it. */
export class JsonAgent implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiters = new Map<number, Waiter>();
  readonly #listeners = new Set<(event: AgentEvent) => void>();
  readonly #exited: Promise<unknown>;
  #nextId = 1;
  #stderr = "";

  constructor(command: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(command, args, { env: { ...process.env, ...env } });
    running.add(this.#child);
    this.#exited = once(this.#child, "close").catch(() => {});
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#onLine(line));
    this.#child.stderr.on("data", (chunk) => {
      this.#stderr = `${this.#stderr}${chunk}`.slice(-10_000);
    });
    // A write to a program that has ended fails here; the waiters hear of the end.
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", (error) => this.#fail(error));
    this.#child.on("close", (code, signal) => this.#fail(new Error(`${command} ended with ${code ?? signal}: ${this.#stderr}`)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Performs one operation. Rejects with the program's error, when the program ends, or after a minute. */
  async request<T = unknown>(op: string, fields: Readonly<Record<string, unknown>> = {}): Promise<T> {
    const id = this.#nextId++;
    const reply = new Promise<unknown>((resolve, reject) => this.#waiters.set(id, { resolve, reject }));
    const timer = setTimeout(
      () => this.#waiters.get(id)?.reject(new Error(`no reply to ${op} within ${replyTimeoutMs} ms`)),
      replyTimeoutMs,
    );
    if (this.#child.exitCode !== null || this.#child.signalCode !== null)
      this.#fail(new Error(`${op}: the agent has ended: ${this.#stderr}`));
    else this.#child.stdin.write(`${JSON.stringify({ id, op, ...fields })}\n`);
    try {
      return (await reply) as T;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(id);
    }
  }

  /** Calls `listener` with each event until disposed. */
  subscribe(listener: (event: AgentEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Stops the program's process where it is, or lets it go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(name);
  }

  /** Kills the process, as a crash would end it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
    running.delete(this.#child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #onLine(line: string): void {
    const message = JSON.parse(line) as AgentEvent | Reply;
    if ("event" in message) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const waiter = this.#waiters.get(message.id);
    if (message.error === undefined) waiter?.resolve(message.ok);
    else waiter?.reject(new Error(message.error));
  }

  #fail(error: Error): void {
    for (const waiter of this.#waiters.values()) waiter.reject(error);
  }
}
