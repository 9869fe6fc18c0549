/** A running digest of everything that happens: two runs with equal digests were the same run. */
export class SimTrace {
  #a = 0x811c9dc5;
  #b = 0x9e3779b9;
  #entries = 0;

  /** Takes up one happening: its time and up to three whole numbers. */
  add(atMs: number, x: number, y: number, z: number): void {
    this.#entries++;
    const time = Math.floor(atMs * 1000);
    this.#mix(time | 0);
    this.#mix((time / 2 ** 32) | 0);
    this.#mix(x);
    this.#mix(y);
    this.#mix(z);
  }

  addText(atMs: number, text: string): void {
    this.add(atMs, text.length, 0, 0);
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i));
  }

  /** How much was added, and the digest of it. */
  get digest(): string {
    return `${this.#entries}-${hex(this.#a)}${hex(this.#b)}`;
  }

  #mix(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x01000193) + 1;
    this.#a ^= this.#a >>> 13;
    this.#b = Math.imul(this.#b ^ (value + this.#a), 0x85ebca6b) + 3;
    this.#b ^= this.#b >>> 16;
  }
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}
