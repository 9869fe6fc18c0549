/** The right to use one of the primary's connections. Whoever keeps the connection longer than the one who got it retains it. */
export class Permit implements Disposable {
  /** For what needs none. */
  static readonly none = new Permit(() => {});
  readonly #release: () => void;
  #users = 1;

  constructor(release: () => void) {
    this.#release = release;
  }

  /** One more user, who disposes it once. */
  retain(): this {
    this.#users++;
    return this;
  }

  [Symbol.dispose](): void {
    if (--this.#users === 0) this.#release();
  }
}
