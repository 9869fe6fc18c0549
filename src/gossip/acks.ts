import type { Random } from "../base/index.ts";

export interface AckHandler {
  /** `payload`: what the peer added to its answer; null for nothing. */
  onAck(payload: Uint8Array | null): void;
  /** `refused`: the node's host refused a stream. */
  onNack(refused: boolean): void;
}

/** Who waits for which answer. Numbers start anywhere, so that a stranger cannot guess them. */
export class Acks {
  readonly #handlers = new Map<number, AckHandler>();
  #next: number;

  constructor(random: Random) {
    this.#next = random.int(0x7fffffff) + 1;
  }

  /** A number for a new question; answers to it reach `handler` until {@link forget}. */
  expect(handler: AckHandler): number {
    this.#next = this.#next >= 0xffffffff ? 1 : this.#next + 1;
    this.#handlers.set(this.#next, handler);
    return this.#next;
  }

  /** A number that no answer is awaited for. */
  number(): number {
    const seqNo = this.expect({ onAck: () => {}, onNack: () => {} });
    this.forget(seqNo);
    return seqNo;
  }

  forget(seqNo: number): void {
    this.#handlers.delete(seqNo);
  }

  ack(seqNo: number, payload: Uint8Array | null = null): void {
    this.#handlers.get(seqNo)?.onAck(payload);
  }

  nack(seqNo: number, refused = false): void {
    this.#handlers.get(seqNo)?.onNack(refused);
  }
}
