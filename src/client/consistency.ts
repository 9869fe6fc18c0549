import { commaList } from "../base/index.ts";

/** The request metadata key, and that of the trailer. */
export const consistencyKey = "gitaly-consistency";

/** What a node reads of one request. */
const maxTokens = 16;

/**
 * What the nodes gave this client to bring along, so that it sees its own writes through any of them. Opaque; a call's answer replaces
 * what that call has sent, so that calls side by side do not forget each other's writes.
 */
export class Consistency {
  #tokens: readonly string[];

  /** `given`: what another client's `text` was; "" for none. */
  constructor(given: string) {
    this.#tokens = commaList(given).slice(-maxTokens);
  }

  /** All of it, to be sent, or to be handed to another client. */
  get text(): string {
    return this.#tokens.join(",");
  }

  /** Takes the answer to a call that was sent with `sent`. */
  answered(sent: string, answer: string): void {
    const replaced = new Set([...commaList(sent), ...commaList(answer)]);
    const kept = [...this.#tokens.filter((token) => !replaced.has(token)), ...commaList(answer)];
    // What came last was asked for last, so that it covers what is left out here.
    this.#tokens = kept.slice(-maxTokens);
  }
}
