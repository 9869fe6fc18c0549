import { Worker } from "node:worker_threads";

/** Longest input that is shown whole. */
const shownBytes = 1 << 16;
const watcher = `
const { workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const { counter, input, limitMs, name } = workerData;
for (let last = -1, strikes = 0; ; ) {
  Atomics.wait(counter, 1, 0, limitMs / 3);
  const now = Atomics.load(counter, 0);
  strikes = now === last ? strikes + 1 : 0;
  if (strikes === 3) {
    writeSync(2, name + " does not end: " + Buffer.from(input.slice(0, Atomics.load(counter, 2))).toString("hex") + "\\n");
    process.kill(process.pid, "SIGKILL");
  }
  last = now;
}`;

/**
 * Ends the process, after it printed the input, where one call does not return: a loop without end cannot be
 * interrupted from inside. The limit is far above what any call takes, so that a slow machine does not reach it.
 */
export class HangWatch implements AsyncDisposable {
  readonly #counter = new Int32Array(new SharedArrayBuffer(12));
  readonly #input = new Uint8Array(new SharedArrayBuffer(shownBytes));
  readonly #worker: Worker;

  constructor(name: string, limitMs = 30_000) {
    this.#worker = new Worker(watcher, { eval: true, workerData: { counter: this.#counter, input: this.#input, limitMs, name } });
  }

  /** Says what runs next. */
  begin(bytes: Uint8Array): void {
    this.#input.set(bytes.subarray(0, shownBytes));
    this.#counter[2] = Math.min(bytes.length, shownBytes);
    Atomics.add(this.#counter, 0, 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
