import type { Logger } from "../observability/index.ts";

/** What a node has opened, closed in reverse order. One failure does not keep the rest open. */
export class CloseStack {
  readonly #logger: Logger;
  readonly #entries: { name: string; close: () => unknown }[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Notes how to close `part` and returns it. */
  use<T>(name: string, part: T, close: (part: T) => unknown): T {
    this.#entries.push({ name, close: () => close(part) });
    return part;
  }

  /** Closes everything; later calls close what was added since. */
  async close(): Promise<void> {
    for (let entry = this.#entries.pop(); entry; entry = this.#entries.pop()) {
      try {
        await entry.close();
      } catch (error) {
        this.#logger.error("a part did not close cleanly", { part: entry.name, error });
      }
    }
  }
}

/** For `use`: the part's own way to close. */
export const disposeAsync = (part: AsyncDisposable): PromiseLike<void> => part[Symbol.asyncDispose]();
