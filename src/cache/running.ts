/** Work that may outlive the caller who began it, so that a part can wait for it when it closes. */
export class Running {
  readonly #promises = new Set<Promise<unknown>>();

  /** Passes `promise` on and remembers it until it is settled. */
  track<T>(promise: Promise<T>): Promise<T> {
    this.#promises.add(promise);
    const forget = () => void this.#promises.delete(promise);
    promise.then(forget, forget);
    return promise;
  }

  /** Resolves when all that runs now is settled, well or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#promises);
  }
}
