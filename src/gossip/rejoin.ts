import { type Clock, CodedError, type Random } from "../base/index.ts";
import { bytesToIp, formatAddress, type GossipAddress } from "./address.ts";
import type { PushNodeState } from "./codec/message.ts";
import type { NodeRecord } from "./node-record.ts";
import { runPeriodically } from "./periodic.ts";

export interface RejoinOptions {
  readonly rejoinIntervalMs: number;
  readonly rejoinMemoryMs: number;
}

export interface RejoinDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly nodes: () => readonly NodeRecord[];
  readonly self: () => GossipAddress;
  readonly resolve: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The view of the peer, who learns nothing. */
  readonly viewOf: (to: GossipAddress, signal: AbortSignal) => Promise<readonly PushNodeState[]>;
  /** Exchanges views with the peer. */
  readonly synchronize: (to: GossipAddress, signal: AbortSignal) => Promise<void>;
  readonly onAttempt: (to: GossipAddress, error: unknown) => void;
}

/** Members that are remembered after they were forgotten by the view. */
const maxPeers = 1024;
const firstDelayMs = 1000;
/** Larger clusters share the attempts: a lost member must not be besieged when it comes back, nor the network by those who look for it. */
const undividedMembers = 32;

/**
 * Tries, at a low rate and for a long time, to reach who is lost: addresses that this node was told to join through, and
 * members that failed. So partitions heal that lasted longer than the view's memory, and any order of starts ends in one cluster.
 * Where a member was lost there may be another cluster now: only a peer that knows a member of this one is exchanged views with.
 */
export class Rejoiner {
  readonly #options: RejoinOptions;
  readonly #deps: RejoinDeps;
  readonly #seeds = new Map<string, GossipAddress>();
  readonly #peers = new Map<string, { address: GossipAddress; untilMs: number }>();
  #aloneDelayMs = firstDelayMs;

  constructor(options: RejoinOptions, deps: RejoinDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** An address to join through; kept for ever. */
  addSeed(address: GossipAddress): void {
    this.#seeds.set(formatAddress(address), address);
    this.#aloneDelayMs = firstDelayMs;
  }

  /** A failed member that the view forgets. */
  remember(record: NodeRecord): void {
    const { host, port } = record;
    this.#peers.delete(record.name);
    this.#peers.set(record.name, { address: { host, port }, untilMs: this.#deps.clock.monotonic() + this.#options.rejoinMemoryMs });
    const oldest = this.#peers.keys().next().value;
    if (this.#peers.size > maxPeers && oldest !== undefined) this.#peers.delete(oldest);
  }

  /** Runs until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return runPeriodically(
      this.#deps.clock,
      signal,
      () => this.#nextDelayMs(),
      () => this.#attempt(signal),
    );
  }

  /** Quickly at first while there is nobody at all, else at the low rate; with jitter, so that nodes do not act in step. */
  #nextDelayMs(): number {
    const { rejoinIntervalMs } = this.#options;
    const jitter = 0.5 + this.#deps.random.float();
    const others = this.#deps.nodes().filter((node) => node.state === "alive" && !isAt(node, this.#deps.self())).length;
    if (others > 0) {
      this.#aloneDelayMs = firstDelayMs;
      return rejoinIntervalMs * jitter * Math.max(1, others / undividedMembers);
    }
    const delayMs = Math.min(this.#aloneDelayMs, rejoinIntervalMs);
    this.#aloneDelayMs = Math.min(this.#aloneDelayMs * 2, rejoinIntervalMs);
    return delayMs * jitter;
  }

  /** One address of each kind, so that many who never return do not hide the one who does. */
  async #attempt(signal: AbortSignal): Promise<void> {
    const chosen = new Map<string, { to: GossipAddress; isTrusted: boolean }>();
    const { lost, forgotten, seeds } = await this.#candidates(signal);
    for (const kind of [lost, forgotten, seeds]) {
      const to = kind[kind.length === 0 ? 0 : this.#deps.random.int(kind.length)];
      if (to) chosen.set(formatAddress(to), { to, isTrusted: kind === seeds });
    }
    await Promise.all([...chosen.values()].map(({ to, isTrusted }) => this.#try(to, isTrusted, signal)));
  }

  async #try(to: GossipAddress, isTrusted: boolean, signal: AbortSignal): Promise<void> {
    try {
      if (!isTrusted && !this.#knowsUs(await this.#deps.viewOf(to, signal))) {
        throw new CodedError("cluster_mismatch", "at the address of a lost member there is one that knows none of this cluster", { ...to });
      }
      await this.#deps.synchronize(to, signal);
      this.#deps.onAttempt(to, undefined);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.onAttempt(to, error);
    }
  }

  /** Who failed, who was forgotten after that, and whom this node was told to join. */
  async #candidates(signal: AbortSignal): Promise<Record<"lost" | "forgotten" | "seeds", GossipAddress[]>> {
    const nowMs = this.#deps.clock.monotonic();
    const nodes = this.#deps.nodes();
    for (const [name, { untilMs }] of this.#peers) {
      const found = nodes.find((node) => node.name === name);
      if (untilMs <= nowMs || (found && found.state !== "dead")) this.#peers.delete(name);
    }
    const lost = nodes.filter(({ state }) => state === "dead").map(({ host, port }) => ({ host, port }));
    const seeds: GossipAddress[] = [];
    for (const { host, port } of this.#seeds.values()) {
      const hosts = await this.#deps.resolve(host, signal).catch(() => []);
      signal.throwIfAborted();
      seeds.push(...hosts.map((each) => ({ host: each, port })));
    }
    const present = (address: GossipAddress) =>
      isAt(this.#deps.self(), address) ||
      this.#deps.nodes().some((node) => node.state !== "dead" && node.state !== "left" && isAt(node, address));
    const forgotten = [...this.#peers.values()].map(({ address }) => address);
    const absent = (addresses: GossipAddress[]) => addresses.filter((address) => !present(address));
    return { lost: absent(lost), forgotten: absent(forgotten), seeds: absent(seeds) };
  }

  /** Whether a view holds a member, of now or before, by name and address. */
  #knowsUs(view: readonly PushNodeState[]): boolean {
    const known = new Map([...this.#peers].map(([name, { address }]) => [name, formatAddress(address)]));
    for (const node of this.#deps.nodes()) known.set(node.name, formatAddress(node));
    return view.some(({ name, address, port }) => known.get(name) === formatAddress({ host: bytesToIp(address) ?? "", port }));
  }
}

function isAt(a: GossipAddress, b: GossipAddress): boolean {
  return a.host === b.host && a.port === b.port;
}
