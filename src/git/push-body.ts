import { createHash } from "node:crypto";
import { CodedError } from "../base/index.ts";
import type { RepositoryView } from "./repository-view.ts";

/** What comes after a push's commands: read once, by whoever is at work, to its end. */
export class PushBody implements AsyncIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>;
  #peeked: Buffer | undefined;
  #onEnd = () => {};
  #isEnded = false;
  /** Resolves when the client has said everything. */
  readonly ended = new Promise<void>((resolve) => {
    this.#onEnd = resolve;
  });

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#peeked) {
      const value = this.#peeked;
      this.#peeked = undefined;
      return { done: false, value };
    }
    if (this.#isEnded) return { done: true, value: undefined };
    const result = await this.#source.next();
    if (result.done) {
      this.#isEnded = true;
      this.#onEnd();
    }
    return result;
  }

  /** Looks at the pack's header without taking it. Undefined where there is none. */
  async packObjectCount(): Promise<number | undefined> {
    const header = await this.#peek(12);
    if (header.length < 12 || header.toString("latin1", 0, 4) !== "PACK") return undefined;
    return header.readUInt32BE(8);
  }

  /** Takes a pack of no objects. False where its checksum does not fit. */
  async takeEmptyPack(objectFormat: RepositoryView["objectFormat"]): Promise<boolean> {
    const pack = await this.#peek(12 + (objectFormat === "sha1" ? 20 : 32));
    await this.drain(0);
    const checksum = createHash(objectFormat).update(pack.subarray(0, 12)).digest();
    return checksum.equals(pack.subarray(12));
  }

  /** Reads and forgets what is left. Errors: `limit_exceeded`; whatever the source throws. */
  async drain(maxBytes: number): Promise<void> {
    this.#peeked = undefined;
    let drainedBytes = 0;
    for (let result = await this.next(); !result.done; result = await this.next()) {
      drainedBytes += result.value.length;
      if (drainedBytes > maxBytes) throw new CodedError("limit_exceeded", "push goes on after its pack", { maxBytes });
    }
  }

  async #peek(bytes: number): Promise<Buffer> {
    while ((this.#peeked?.length ?? 0) < bytes) {
      const held = this.#peeked ?? Buffer.alloc(0);
      this.#peeked = undefined;
      const result = await this.next();
      this.#peeked = result.done ? held : Buffer.concat([held, result.value]);
      if (result.done) break;
    }
    return this.#peeked ?? Buffer.alloc(0);
  }
}
