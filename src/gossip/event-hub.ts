import type { Counter, Logger } from "../observability/index.ts";
import { formatAddress } from "./address.ts";
import type { MemberEvent } from "./member-event.ts";

/** Counts and logs each event and hands it to everyone who subscribed. */
export class EventHub {
  readonly #counter: Counter;
  readonly #logger: Logger;
  readonly #listeners = new Set<(event: MemberEvent) => void>();
  readonly #waiting: MemberEvent[] = [];
  #isTelling = false;

  constructor(deps: { counter: Counter; logger: Logger }) {
    this.#counter = deps.counter;
    this.#logger = deps.logger;
  }

  subscribe(listener: (event: MemberEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** A listener that throws harms nobody else. What follows from its own calls is told after the running event: all hear one order. */
  emit(event: MemberEvent): void {
    this.#counter.add(1, { type: event.type });
    this.#log(event);
    this.#waiting.push(event);
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) this.#tell(next);
    this.#isTelling = false;
  }

  #tell(event: MemberEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error("a gossip listener failed", { error });
      }
    }
  }

  #log(event: MemberEvent): void {
    if (event.type === "message") return;
    const { type, member, from, reason } = event;
    if (type === "conflict") {
      const fields = { member: member.name, kept: formatAddress(member), other: event.other, lost: event.lost };
      this.#logger.error("two live nodes use one name", fields);
    } else this.#logger.info("the gossip membership changed", { type, member: member.name, address: formatAddress(member), from, reason });
  }
}
