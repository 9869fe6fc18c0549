import type { Clock } from "../../src/base/index.ts";
import type { CliDeps, CliIo, CliServer } from "../../src/cli/index.ts";
import { runCli } from "../../src/cli/index.ts";

/** What a test gives a command to work with; all of it is optional. */
export interface FakeCli {
  readonly deps?: Partial<CliDeps>;
  readonly isTerminal?: boolean;
  readonly answer?: string;
  readonly env?: Record<string, string>;
  /** Gets the function that delivers SIGTERM. */
  readonly onStart?: (deliverSignal: () => void) => void;
  /** Called at each write to stdout with all that was written so far. */
  readonly onStdout?: (all: string) => void;
}

/** A clock that stands still until `advance`; sleeps end in order of their time. */
export class StandingClock implements Clock {
  #now = 0;
  readonly #waiting = new Set<{ at: number; fire: () => void }>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.timer(ms, resolve);
      const onAbort = () => {
        timer[Symbol.dispose]();
        reject(signal.reason);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  timer(ms: number, fire: () => void): Disposable {
    const entry = { at: this.#now + ms, fire };
    this.#waiting.add(entry);
    return { [Symbol.dispose]: () => void this.#waiting.delete(entry) };
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const entry of [...this.#waiting].sort((a, b) => a.at - b.at)) {
      if (entry.at <= this.#now && this.#waiting.delete(entry)) entry.fire();
    }
  }
}

/** A node that is ready at once and closes when it is told to. */
export function fakeServer(overrides: Partial<CliServer> & { readonly calls?: string[] } = {}): CliServer {
  const { calls, ...rest } = overrides;
  let close = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  return {
    info: {
      node: "host:8075",
      version: "1.2.3",
      dataDir: "/home/u/gitaly",
      grpc: "127.0.0.1:8075",
      http: "127.0.0.1:8076",
      gossip: "127.0.0.1:7946",
    },
    whenReady: async () => {},
    waitingFor: () => "",
    drain: async () => {
      calls?.push("drain");
      close();
    },
    destroy: async () => {
      calls?.push("destroy");
      close();
    },
    closed,
    ...rest,
  };
}

/** Runs one command line in a process that is not there. */
export async function runFakeCli(
  line: string | readonly string[],
  fake: FakeCli = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  fake.onStart?.(() => {
    for (const listener of listeners) listener();
  });
  const io: CliIo = {
    stdout: (text) => {
      stdout += text;
      fake.onStdout?.(stdout);
    },
    stderr: (text) => {
      stderr += text;
    },
    isTerminal: fake.isTerminal ?? false,
    ask: async (question) => {
      stdout += question;
      return fake.answer ?? "";
    },
    env: fake.env ?? {},
    cwd: "/home/u",
    readFile: () => "",
    onStopSignal: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const refuse = (what: string) => () => {
    throw new Error(`the test does not expect ${what}`);
  };
  const deps: CliDeps = {
    clock: new StandingClock(),
    loadConfig: () => ({ advertiseHost: undefined, ignored: [] }),
    showConfig: refuse("showConfig"),
    createServer: refuse("createServer"),
    runChecks: refuse("runChecks"),
    watchDatabase: refuse("watchDatabase"),
    rebuildCatalog: refuse("rebuildCatalog"),
    runHook: refuse("a child process"),
    connect: refuse("a connection"),
    ...fake.deps,
  };
  const code = await runCli(typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line, io, deps);
  return { code, stdout, stderr };
}
