/** Bytes that wait for their reader. Bounded by what its one writer puts in. */
export class Outbox {
  #chunks: Uint8Array[] = [];
  #wake: (() => void) | undefined;

  put(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  take(): Uint8Array[] {
    return this.#chunks.splice(0);
  }

  /** Calls `fn` at the next `put`. */
  onPut(fn: (() => void) | undefined): void {
    this.#wake = fn;
  }
}
