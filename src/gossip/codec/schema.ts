/** The field names of a struct, and how to find one of them in bytes without making a string of it. */
export class Schema {
  /** In the order that positional encodings have. */
  readonly names: readonly string[];
  /** Places in {@link names} in the order in which keys are sent. */
  readonly sentOrder: readonly number[];
  readonly #keys: readonly Uint8Array[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#keys = names.map((name) => new Uint8Array(Buffer.from(name, "latin1")));
    this.#places = new Map(names.map((name, place) => [name, place]));
    this.sentOrder = names.map((_, place) => place).sort((a, b) => ((names[a] as string) < (names[b] as string) ? -1 : 1));
  }

  /** The place of a field of this struct. */
  place(name: string): number {
    return this.#places.get(name) ?? -1;
  }

  /** The place of the field that `key` names, -1 for none. It is tried at `guess` first. */
  find(key: Uint8Array, guess: number | undefined): number {
    if (guess !== undefined && this.#is(guess, key)) return guess;
    for (let place = 0; place < this.#keys.length; place++) if (this.#is(place, key)) return place;
    return -1;
  }

  #is(place: number, key: Uint8Array): boolean {
    const own = this.#keys[place] as Uint8Array;
    if (own.length !== key.length) return false;
    for (let i = 0; i < own.length; i++) if (own[i] !== key[i]) return false;
    return true;
  }
}
