/** Request bodies up to this size are kept until the answer begins. */
const maxKeptBytes = 1024 * 1024;

/** A request body that can be read a second time as long as it is small. */
export class ReplayableBody {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #overflowed = false;
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Whether `read` gives the whole body once more. */
  get replayable(): boolean {
    return !this.#overflowed;
  }

  /** What was read before, then the rest of the source. One reader at a time. */
  async *read(): AsyncGenerator<Uint8Array> {
    yield* this.#kept;
    while (!this.#ended) {
      const item = await this.#source.next();
      if (item.done) {
        this.#ended = true;
        return;
      }
      this.#keep(item.value);
      yield item.value;
    }
  }

  /** Lets the source go. */
  async close(): Promise<void> {
    this.#ended = true;
    await this.#source.return?.();
  }

  #keep(chunk: Uint8Array): void {
    if (this.#overflowed) return;
    this.#keptBytes += chunk.length;
    if (this.#keptBytes > maxKeptBytes) {
      this.#overflowed = true;
      this.#kept.length = 0;
    } else this.#kept.push(chunk);
  }
}
