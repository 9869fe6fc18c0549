import { setTimeout as delay } from "node:timers/promises";

export type KeyChange = "add" | "use" | "remove";

/** What both kinds of members can be asked to do, and what they saw, in words that fit both. Payloads are hexadecimal. */
export interface GossipPeer {
  readonly name: string;
  readonly kind: "go" | "ours";
  /** HOST:PORT */
  readonly address: string;
  readonly log: PeerLog;
  /** How many answered. Rejects when none did. */
  join(address: string): Promise<number>;
  setMeta(meta: string): Promise<void>;
  broadcast(payload: string): Promise<void>;
  /** Sends a user message to one member, in a packet or over a stream. */
  send(address: string, payload: string, reliable: boolean): Promise<void>;
  /** Accepts one more key, sends with one that it accepts, or accepts one no longer. */
  changeKeys(change: KeyChange, key: Uint8Array): Promise<void>;
  leave(): Promise<void>;
  /** Ends without a word; a Go member by a SIGKILL to its process. */
  crash(): Promise<void>;
  /** The names of the members that it holds to be neither dead nor gone, sorted. */
  live(): Promise<string[]>;
  /** This share of the packets that it sends is lost. */
  lose(share: number): Promise<void>;
  /** From now on nothing that it sends reaches these addresses. */
  block(addresses: readonly string[]): Promise<void>;
}

/** What a member said of the others. */
export class PeerLog {
  readonly #seen = new Map<string, string[]>();
  /** Each suspicion that it had or heard of. */
  readonly suspicions: string[] = [];
  /** Its warnings and errors. */
  readonly complaints: string[] = [];
  readonly messages: string[] = [];
  /** Sizes of the user states that came with full exchanges. */
  readonly states: number[] = [];
  /** The last payload of each member's answers to probes, in hexadecimal. */
  readonly acks = new Map<string, string>();

  add(member: string, what: string): void {
    this.#seen.set(member, [...this.of(member), what]);
  }

  /** What happened to `member`, in order: "join META", "update META", "leave", "conflict". */
  of(member: string): readonly string[] {
    return this.#seen.get(member) ?? [];
  }
}

/** Waits until the condition holds. Rejects after `withinMs`, with what is the case then. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs: number, describe: () => unknown): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() >= end) throw new Error(`not within ${withinMs} ms: ${JSON.stringify(await describe())}`);
    await delay(20);
  }
}
