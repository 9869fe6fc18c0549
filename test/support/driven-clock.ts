import { SimClock } from "./sim-clock.ts";

/**
 * Virtual time that goes on by itself, beside real servers: a few milliseconds of it with each turn of a real timer. A busy machine makes
 * it slower, never late: deadlines do not pass only because a test could not run.
 */
export class DrivenClock extends SimClock implements AsyncDisposable {
  /** Virtual milliseconds with each turn, of which there are some hundred in a second. 2 is about as fast as real time. */
  stepMs = 2;
  #driving = true;
  readonly #driver: Promise<void>;

  constructor() {
    super();
    this.#driver = this.#drive();
  }

  /** Waits for `ms` of virtual time. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.monotonic() + ms;
    while (this.monotonic() < untilMs) await turn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#driving = false;
    await this.#driver;
  }

  async #drive(): Promise<void> {
    while (this.#driving) {
      await turn();
      await this.advance(this.stepMs);
    }
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
