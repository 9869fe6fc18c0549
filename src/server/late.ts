import { abortable, CodedError } from "../base/index.ts";

/** A part that exists only from some moment of the start on. */
export class Late<T> {
  readonly #name: string;
  readonly #promise: Promise<T>;
  #resolve: (value: T) => void = () => {};
  #value: T | undefined;

  constructor(name: string) {
    this.#name = name;
    this.#promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  set(value: T): void {
    this.#value = value;
    this.#resolve(value);
  }

  /** Errors: `node_unavailable` before it was set. */
  get value(): T {
    if (this.#value === undefined)
      throw new CodedError("node_unavailable", "the node is starting", { part: this.#name }, { retryAfterMs: 1000 });
    return this.#value;
  }

  get ifSet(): T | undefined {
    return this.#value;
  }

  wait(signal: AbortSignal): Promise<T> {
    return abortable(this.#promise, signal);
  }
}
