import type { Clock, Random } from "../../src/base/index.ts";
import type { GossipAddress, TransportFactory } from "../../src/gossip/index.ts";
import { type MemoryLink, MemoryTransport } from "./memory-transport.ts";

/** What happens to datagrams; streams only have the delay. */
export interface NetworkFaults {
  /** Share of datagrams that are lost. */
  loss: number;
  /** Share that arrives twice. */
  duplication: number;
  /** Each takes a random time between these, so that they overtake each other. */
  minDelayMs: number;
  maxDelayMs: number;
}

export type Traffic = "packets" | "streams" | "all";

/** A network of hosts with faults that a test sets. One process for a host; a host may be paused like a stopped process. */
export class SimNetwork implements MemoryLink {
  readonly faults: NetworkFaults = { loss: 0, duplication: 0, minDelayMs: 0.2, maxDelayMs: 1 };
  /** Host names and what they resolve to now. */
  readonly names = new Map<string, readonly string[]>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #transports = new Map<string, MemoryTransport>();
  readonly #cuts = new Map<string, Traffic>();
  readonly #paused = new Map<string, { fn: () => void; isTimer: boolean }[]>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Binds a transport to `host`; port 0 means 7946. */
  factory(host: string): TransportFactory {
    return async ({ port }) => {
      const transport = new MemoryTransport({ host, port: port || 7946 }, this);
      const key = keyOf(transport.address);
      if (this.#transports.has(key)) throw Object.assign(new Error("address in use"), { code: "EADDRINUSE" });
      this.#transports.set(key, transport);
      return transport;
    };
  }

  /** The clock of the process on `host`: its timers wait while the process is paused. */
  clockOf(host: string): Clock {
    const clock = this.#clock;
    const later = (fn: () => void) => () => this.whenRunning(host, fn, true);
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (ms, fn) => {
        let active = true;
        const timer = clock.timer(
          ms,
          later(() => active && fn()),
        );
        return {
          [Symbol.dispose]: () => {
            active = false;
            timer[Symbol.dispose]();
          },
        };
      },
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal);
        await new Promise<void>((resolve) => this.whenRunning(host, resolve, true));
        signal.throwIfAborted();
      },
    };
  }

  /** Nothing, or only one kind of traffic, gets from `from` to `to`. */
  cutOneWay(from: string, to: string, traffic: Traffic = "all"): void {
    this.#cuts.set(`${from}>${to}`, traffic);
  }

  cut(a: string, b: string, traffic: Traffic = "all"): void {
    this.cutOneWay(a, b, traffic);
    this.cutOneWay(b, a, traffic);
  }

  /** Cuts every host of `left` from every host of `right`. */
  partition(left: readonly string[], right: readonly string[]): void {
    for (const a of left) for (const b of right) this.cut(a, b);
  }

  /** Ends every cut. */
  heal(): void {
    this.#cuts.clear();
  }

  /** Stops the process on `host`: nothing runs there until {@link resume}, what arrives waits. */
  pause(host: string): void {
    if (!this.#paused.has(host)) this.#paused.set(host, []);
  }

  resume(host: string): void {
    const waiting = this.#paused.get(host) ?? [];
    this.#paused.delete(host);
    // As an event loop does: timers that are due run before input that waits is read.
    for (const { fn } of [...waiting.filter(({ isTimer }) => isTimer), ...waiting.filter(({ isTimer }) => !isTimer)]) fn();
  }

  /** Throws away what a paused host has not seen yet, as the end of its process does. */
  forget(host: string): void {
    this.#paused.delete(host);
  }

  /** Injects a datagram from anywhere. */
  inject(to: GossipAddress, bytes: Uint8Array, from: GossipAddress = { host: "192.0.2.1", port: 9 }): void {
    this.#transports.get(keyOf(to))?.receivePacket(bytes, from);
  }

  packet(from: GossipAddress, to: GossipAddress, deliver: (target: MemoryTransport) => void): void {
    const copies = this.#random.float() < this.faults.duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (this.#random.float() < this.faults.loss) continue;
      this.#clock.timer(this.#delayMs(), () => {
        const target = this.#transports.get(keyOf(to));
        if (target && !this.#isCut(from, to, "packets")) deliver(target);
      });
    }
  }

  async connect(from: GossipAddress, to: GossipAddress, signal: AbortSignal): Promise<MemoryTransport> {
    await this.#clock.sleep(this.#delayMs() * 2, signal);
    if (this.#isCut(from, to, "streams") || this.#isCut(to, from, "streams")) await this.#clock.sleep(2 ** 40, signal);
    const target = this.#transports.get(keyOf(to));
    if (!target) throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    return target;
  }

  stream(from: GossipAddress, to: GossipAddress, lane: { freeAtMs: number }, deliver: () => void): void {
    const nowMs = this.#clock.monotonic();
    lane.freeAtMs = Math.max(lane.freeAtMs, nowMs + this.#delayMs());
    this.#clock.timer(lane.freeAtMs - nowMs, () => {
      if (!this.#isCut(from, to, "streams")) deliver();
    });
  }

  resolve(host: string): readonly string[] {
    return this.names.get(host) ?? (/^[\d.]+$/.test(host) ? [host] : []);
  }

  whenRunning(host: string, fn: () => void, isTimer = false): void {
    const waiting = this.#paused.get(host);
    if (waiting) waiting.push({ fn, isTimer });
    else fn();
  }

  afterPoll(host: string, fn: () => void): void {
    this.#clock.timer(0, () => this.whenRunning(host, fn));
  }

  removed(transport: MemoryTransport): void {
    const key = keyOf(transport.address);
    if (this.#transports.get(key) === transport) this.#transports.delete(key);
  }

  #delayMs(): number {
    const { minDelayMs, maxDelayMs } = this.faults;
    return minDelayMs + this.#random.float() * (maxDelayMs - minDelayMs);
  }

  #isCut(from: GossipAddress, to: GossipAddress, traffic: Traffic): boolean {
    const cut = this.#cuts.get(`${from.host}>${to.host}`);
    return cut === "all" || cut === traffic;
  }
}

function keyOf({ host, port }: GossipAddress): string {
  return `${host}:${port}`;
}
