import type { Clock, Random } from "../../src/base/index.ts";
import type { GossipAddress, TransportFactory } from "../../src/gossip/index.ts";
import { type MemoryLink, MemoryTransport } from "./memory-transport.ts";
import { SimProcess } from "./sim-process.ts";
import type { SimTrace } from "./sim-trace.ts";

/** What happens to datagrams; streams only have the delay. */
export interface NetworkFaults {
  /** Share of datagrams that are lost. */
  loss: number;
  /** Share that arrives twice. */
  duplication: number;
  /** Each takes a random time between these, so that they overtake each other. */
  minDelayMs: number;
  maxDelayMs: number;
  /** Share that takes up to `spikeMs` longer. */
  spikes: number;
  spikeMs: number;
}

/** A network in which hardly anything happens. */
export const soundNetwork: NetworkFaults = { loss: 0, duplication: 0, minDelayMs: 0.2, maxDelayMs: 1, spikes: 0, spikeMs: 0 };

export type Traffic = "packets" | "streams" | "all";

interface SimHost {
  readonly index: number;
  readonly transports: Map<number, MemoryTransport>;
  readonly cuts: Map<string, Traffic>;
  process: SimProcess;
  /** Hosts of different groups do not reach each other. */
  group: number;
  /** The machine is off: nothing refuses a connection there. */
  off: boolean;
}

/** A network of hosts with faults that a test sets. One process for a host. */
export class SimNetwork implements MemoryLink {
  readonly faults: NetworkFaults = { ...soundNetwork };
  /** Host names and what they resolve to now. */
  readonly names = new Map<string, readonly string[]>();
  /** Hosts whose datagrams seem to come from another address, and that address. */
  readonly nat = new Map<string, GossipAddress>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #trace: SimTrace | undefined;
  readonly #hosts = new Map<string, SimHost>();

  constructor(clock: Clock, random: Random, trace?: SimTrace) {
    this.#clock = clock;
    this.#random = random;
    this.#trace = trace;
  }

  /** Binds a transport to `host`; port 0 means 7946. */
  factory(host: string): TransportFactory {
    return async ({ port }) => {
      const transport = new MemoryTransport({ host, port: port || 7946 }, this);
      const { transports } = this.#host(host);
      if (transports.has(transport.address.port)) throw Object.assign(new Error("address in use"), { code: "EADDRINUSE" });
      transports.set(transport.address.port, transport);
      return transport;
    };
  }

  /** The transport that is bound to an address. */
  transport({ host, port }: GossipAddress): MemoryTransport | undefined {
    return this.#hosts.get(host)?.transports.get(port);
  }

  /** The clock of the process on `host`. */
  clockOf(host: string): SimProcess {
    return this.#host(host).process;
  }

  /** Nothing, or only one kind of traffic, gets from `from` to `to`. */
  cutOneWay(from: string, to: string, traffic: Traffic = "all"): void {
    this.#host(from).cuts.set(to, traffic);
  }

  cut(a: string, b: string, traffic: Traffic = "all"): void {
    this.cutOneWay(a, b, traffic);
    this.cutOneWay(b, a, traffic);
  }

  /** Ends the cuts between two hosts. */
  mend(a: string, b: string): void {
    this.#host(a).cuts.delete(b);
    this.#host(b).cuts.delete(a);
  }

  /** Hosts of different groups do not reach each other any more; the hosts that are not named are a group too. */
  partition(...groups: (readonly string[])[]): void {
    this.joinGroups();
    for (const [index, group] of groups.entries()) for (const host of group) this.#host(host).group = index + 1;
  }

  /** Ends {@link partition}. */
  joinGroups(): void {
    for (const host of this.#hosts.values()) host.group = 0;
  }

  /** Ends every cut and partition. */
  heal(): void {
    this.joinGroups();
    for (const { cuts } of this.#hosts.values()) cuts.clear();
  }

  /** Stops the process on `host`: nothing runs there until {@link resume}, what arrives waits. */
  pause(host: string): void {
    this.#host(host).process.pause();
  }

  resume(host: string): void {
    this.#host(host).process.resume();
  }

  /** Throws away what has reached a paused host, and lets it go on. */
  forget(host: string): void {
    this.#host(host).process.resume(false);
  }

  /** Ends the process on `host` at once. Its system tells its peers and refuses connections; `off`: the machine says nothing any more. */
  kill(host: string, off = false): void {
    const state = this.#host(host);
    state.off = off;
    const { transports } = state;
    for (const transport of [...transports.values()]) void transport.close();
    transports.clear();
    state.process.pause();
    state.process = new SimProcess(this.#clock, this.#random);
  }

  /** The machine runs again; its process is new. */
  boot(host: string): void {
    this.#host(host).off = false;
  }

  /** Injects a datagram from anywhere. */
  inject(to: GossipAddress, bytes: Uint8Array, from: GossipAddress = { host: "192.0.2.1", port: 9 }): void {
    this.transport(to)?.receivePacket(bytes, from);
  }

  packet(from: MemoryTransport, to: GossipAddress, bytes: Uint8Array): void {
    const { loss, duplication } = this.faults;
    const copies = duplication > 0 && this.#random.float() < duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (loss > 0 && this.#random.float() < loss) continue;
      this.#clock.timer(this.#delayMs(), () => this.#arrive(from.address, to, bytes));
    }
  }

  #arrive(from: GossipAddress, to: GossipAddress, bytes: Uint8Array): void {
    const target = this.#hosts.get(to.host);
    const transport = target?.transports.get(to.port);
    const source = this.#host(from.host);
    if (!target || !transport || isCut(source, target, to.host, "packets")) return;
    this.#trace?.add(this.#clock.monotonic(), source.index, target.index, (bytes.length << 8) | (bytes.at(-1) ?? 0));
    const seen = this.nat.size > 0 ? (this.nat.get(from.host) ?? from) : from;
    if (target.process.paused) target.process.whenRunning(() => transport.receivePacket(bytes, seen));
    else transport.receivePacket(bytes, seen);
  }

  async connect(from: MemoryTransport, to: GossipAddress, signal: AbortSignal): Promise<MemoryTransport> {
    await this.#clock.sleep(this.#delayMs() * 2, signal);
    const source = this.#host(from.address.host);
    const target = this.#host(to.host);
    const silent = () => target.off || isCut(source, target, to.host, "streams") || isCut(target, source, from.address.host, "streams");
    // The system repeats its request while nothing answers.
    for (let pauseMs = 1000; silent(); pauseMs *= 2) await this.#clock.sleep(pauseMs, signal);
    const transport = target.transports.get(to.port);
    if (!transport) throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    return transport;
  }

  stream(from: GossipAddress, to: GossipAddress, lane: { freeAtMs: number }, deliver: () => void): void {
    const nowMs = this.#clock.monotonic();
    const source = this.#host(from.host);
    const target = this.#host(to.host);
    if (source.off) return;
    lane.freeAtMs = Math.max(lane.freeAtMs, nowMs + this.#delayMs());
    this.#clock.timer(lane.freeAtMs - nowMs, () => {
      if (target.off || isCut(source, target, to.host, "streams")) return;
      this.#trace?.add(this.#clock.monotonic(), source.index, target.index, -1);
      deliver();
    });
  }

  resolve(host: string): readonly string[] {
    return this.names.get(host) ?? (/^[\d.]+$/.test(host) ? [host] : []);
  }

  whenRunning(host: string, fn: () => void): void {
    this.#host(host).process.whenRunning(fn);
  }

  afterPoll(host: string, fn: () => void): void {
    const { process } = this.#host(host);
    this.#clock.timer(0, () => process.whenRunning(fn));
  }

  removed(transport: MemoryTransport): void {
    const { host, port } = transport.address;
    const { transports } = this.#host(host);
    if (transports.get(port) === transport) transports.delete(port);
  }

  #host(name: string): SimHost {
    let host = this.#hosts.get(name);
    if (!host) {
      const index = this.#hosts.size;
      const process = new SimProcess(this.#clock, this.#random);
      host = { index, process, transports: new Map(), cuts: new Map(), group: 0, off: false };
      this.#hosts.set(name, host);
    }
    return host;
  }

  #delayMs(): number {
    const { minDelayMs, maxDelayMs, spikes, spikeMs } = this.faults;
    const spike = spikes > 0 && this.#random.float() < spikes ? this.#random.float() * spikeMs : 0;
    return minDelayMs + this.#random.float() * (maxDelayMs - minDelayMs) + spike;
  }
}

function isCut(from: SimHost, to: SimHost, toName: string, traffic: Traffic): boolean {
  if (from.group !== to.group) return true;
  if (from.cuts.size === 0) return false;
  const cut = from.cuts.get(toName);
  return cut === "all" || cut === traffic;
}
