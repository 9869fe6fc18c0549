/**
 * Joins callers into runs that start after they asked: a run that is under way may have seen too little for a newcomer, so
 * newcomers share the one after it. At most one runs and one waits.
 */
export class NextFlight<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  run(): Promise<T> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = undefined;
    const running = this.#work();
    this.#running = running;
    const forget = () => {
      if (this.#running === running) this.#running = undefined;
    };
    running.then(forget, forget);
    return running;
  }
}
