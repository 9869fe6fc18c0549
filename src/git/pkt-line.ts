import { CodedError } from "../base/index.ts";

/** One packet of git's pkt-line format. */
export type Pkt =
  | { readonly type: "data"; readonly payload: Buffer }
  | { readonly type: "flush" }
  | { readonly type: "delim" }
  | { readonly type: "response-end" };

const maxPayloadBytes = 65516;
const none = Buffer.alloc(0);

/** Ends a list of packets. */
export const flushPkt: Uint8Array = Buffer.from("0000", "latin1");

/** Wraps a payload of at most 65516 bytes (a string is taken as bytes) into one data packet. */
export function encodePkt(payload: string | Uint8Array): Buffer {
  const bytes = typeof payload === "string" ? Buffer.from(payload, "latin1") : payload;
  if (bytes.length > maxPayloadBytes) throw new CodedError("internal", "packet is too long", { sizeBytes: bytes.length });
  const pkt = Buffer.allocUnsafe(bytes.length + 4);
  pkt.write(hexLength(bytes.length), 0, "latin1");
  pkt.set(bytes, 4);
  return pkt;
}

/** The same packet as a string of bytes: thousands of them join faster than buffers do. */
export function encodePktString(payload: string): string {
  return hexLength(payload.length) + payload;
}

function hexLength(payloadBytes: number): string {
  return (payloadBytes + 4).toString(16).padStart(4, "0");
}

/** The value of a packet's four length bytes; undefined where they are no length. 0, 1 and 2 are flush, delim and response-end. */
export function parsePktLength(header: Uint8Array): number | undefined {
  let value = 0;
  for (let i = 0; i < 4; i++) {
    const digit = hexDigit(header[i] ?? 0);
    if (digit < 0) return undefined;
    value = value * 16 + digit;
  }
  return value === 3 || value > maxPayloadBytes + 4 ? undefined : value;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

export interface PktReaderOptions {
  /** Packets together may have this many bytes; what `rest` hands over does not count. */
  readonly maxBytes: number;
}

/** Reads packets off a byte stream, and hands over what follows them. Errors: `protocol_error`, `limit_exceeded`. */
export class PktReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #maxBytes: number;
  #buffered: Buffer = none;
  #consumedBytes = 0;
  #ended = false;

  constructor(options: PktReaderOptions, source: AsyncIterable<Uint8Array>) {
    this.#maxBytes = options.maxBytes;
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** The next packet; undefined where the stream ends before it. */
  async next(): Promise<Pkt | undefined> {
    if (!(await this.#fill(4))) {
      if (this.#buffered.length === 0) return undefined;
      throw new CodedError("protocol_error", "stream ends inside a packet");
    }
    const length = parsePktLength(this.#buffered);
    if (length === undefined) throw new CodedError("protocol_error", "bad packet length");
    const total = Math.max(length, 4);
    this.#consumedBytes += total;
    if (this.#consumedBytes > this.#maxBytes) {
      throw new CodedError("limit_exceeded", "too many bytes in packets", { maxBytes: this.#maxBytes });
    }
    if (!(await this.#fill(total))) throw new CodedError("protocol_error", "stream ends inside a packet");
    const payload = this.#buffered.subarray(4, total);
    this.#buffered = this.#buffered.subarray(total);
    if (length >= 4) return { type: "data", payload };
    return { type: length === 0 ? "flush" : length === 1 ? "delim" : "response-end" };
  }

  /** Everything after the last packet read. The reader itself must not be used afterwards. */
  async *rest(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      if (this.#buffered.length > 0) yield this.#buffered;
      while (!this.#ended) {
        const { done, value } = await this.#iterator.next();
        if (done) this.#ended = true;
        else yield value;
      }
    } finally {
      this.close();
    }
  }

  /** Reads and forgets what is left. Errors: `limit_exceeded` beyond `maxBytes`. */
  async drain(maxBytes: number): Promise<void> {
    let drainedBytes = 0;
    for await (const chunk of this.rest()) {
      drainedBytes += chunk.length;
      if (drainedBytes > maxBytes) throw new CodedError("limit_exceeded", "too many bytes after the last packet", { maxBytes });
    }
  }

  /** Lets the source go, without waiting for it. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#iterator.return?.()?.catch(() => {});
  }

  async #fill(bytes: number): Promise<boolean> {
    if (this.#buffered.length >= bytes) return true;
    const parts: Uint8Array[] = [this.#buffered];
    let length = this.#buffered.length;
    while (length < bytes && !this.#ended) {
      const { done, value } = await this.#iterator.next();
      if (done) this.#ended = true;
      else {
        parts.push(value);
        length += value.length;
      }
    }
    this.#buffered = Buffer.concat(parts, length);
    return length >= bytes;
  }
}
