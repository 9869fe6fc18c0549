import { Session } from "node:inspector/promises";

/**
 * Counts what a call does: how often each block of the sources below `folder` runs, as the engine's own coverage counts it. The
 * same call gives the same number on every machine, so that growth can be tested without a clock.
 */
export class WorkCounter implements AsyncDisposable {
  readonly #session = new Session();
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(folder: string): Promise<WorkCounter> {
    const counter = new WorkCounter(folder);
    counter.#session.connect();
    await counter.#session.post("Profiler.enable");
    await counter.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return counter;
  }

  /** Blocks that `work` runs. */
  async count(work: () => void): Promise<number> {
    await this.#take();
    work();
    return await this.#take();
  }

  /** What ran since the last time. */
  async #take(): Promise<number> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    let sum = 0;
    for (const { url, functions } of result) {
      if (!url.includes(this.#folder)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) sum += count;
    }
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}
