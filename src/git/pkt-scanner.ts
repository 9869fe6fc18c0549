import { parsePktLength } from "./pkt-line.ts";

const prefixBytes = 16;

/** Follows the packet borders of a stream that passes by, without holding its bytes. */
export class PktScanner {
  readonly #onPacket: (prefix: string, payloadBytes: number) => void;
  readonly #header = Buffer.alloc(4);
  readonly #prefix = Buffer.alloc(prefixBytes);
  #headerLength = 0;
  #remainingBytes = 0;
  #prefixLength = 0;
  #payloadBytes = 0;
  #broken = false;

  /** `onPacket` gets the first 16 bytes of each data packet's payload, once the packet is complete. */
  constructor(onPacket: (prefix: string, payloadBytes: number) => void) {
    this.#onPacket = onPacket;
  }

  /** True where all bytes so far are whole packets. */
  get atBorder(): boolean {
    return !this.#broken && this.#headerLength === 0 && this.#remainingBytes === 0;
  }

  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length && !this.#broken) {
      offset += this.#remainingBytes > 0 ? this.#takePayload(chunk, offset) : this.#takeHeader(chunk, offset);
    }
  }

  #takeHeader(chunk: Uint8Array, offset: number): number {
    const taken = Math.min(4 - this.#headerLength, chunk.length - offset);
    this.#header.set(chunk.subarray(offset, offset + taken), this.#headerLength);
    this.#headerLength += taken;
    if (this.#headerLength < 4) return taken;
    this.#headerLength = 0;
    const length = parsePktLength(this.#header);
    if (length === undefined) this.#broken = true;
    else if (length >= 4) {
      this.#payloadBytes = length - 4;
      this.#remainingBytes = this.#payloadBytes;
      this.#prefixLength = 0;
      if (this.#remainingBytes === 0) this.#onPacket("", 0);
    }
    return taken;
  }

  #takePayload(chunk: Uint8Array, offset: number): number {
    const taken = Math.min(this.#remainingBytes, chunk.length - offset);
    const wanted = Math.min(prefixBytes - this.#prefixLength, taken);
    if (wanted > 0) {
      this.#prefix.set(chunk.subarray(offset, offset + wanted), this.#prefixLength);
      this.#prefixLength += wanted;
    }
    this.#remainingBytes -= taken;
    if (this.#remainingBytes === 0) this.#onPacket(this.#prefix.toString("latin1", 0, this.#prefixLength), this.#payloadBytes);
    return taken;
  }
}
