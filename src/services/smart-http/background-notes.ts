import type { Logger } from "../../observability/index.ts";

/** What is noted of pushes after their answers, each with the path that it is about. */
export class BackgroundNotes implements AsyncDisposable {
  readonly #logger: Logger;
  readonly #paths = new Map<Promise<void>, string>();

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** Keeps `work` in sight; what it fails with is logged. */
  add(path: string, work: Promise<void>): void {
    const note = work
      .catch((error: unknown) => this.#logger.warn("a pushed generation was not noted in the catalog", { error }))
      .finally(() => this.#paths.delete(note));
    this.#paths.set(note, path);
  }

  /** Resolves when what has been added about `path` so far has ended. */
  async ended(path: string): Promise<void> {
    await Promise.all([...this.#paths].filter(([, about]) => about === path).map(([note]) => note));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#paths.keys());
  }
}
