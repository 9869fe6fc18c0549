import { neverAborted } from "../../src/base/index.ts";
import { type ClusterGuard, createMember, type GossipAddress, type MemberEvent, type MemberOptions } from "../../src/gossip/index.ts";
import { SimClock } from "../support/sim-clock.ts";
import { SimNetwork } from "../support/sim-network.ts";
import { simRandom } from "../support/sim-random.ts";
import { SimTrace } from "../support/sim-trace.ts";
import type { Checker } from "./checkers/checker.ts";
import { ConvergenceChecker } from "./checkers/convergence-checker.ts";
import { FalseDeathChecker } from "./checkers/false-death-checker.ts";
import { IncarnationChecker } from "./checkers/incarnation-checker.ts";
import { LimitChecker } from "./checkers/limit-checker.ts";
import { createRecorder } from "./recorder.ts";
import type { SimNode } from "./sim-node.ts";

export type { SimNode };

export const gossipPort = 7946;

export interface StartOptions extends Partial<MemberOptions> {
  readonly guard?: ClusterGuard;
}

export interface SimClusterOptions {
  /** Keep events, warnings and counters of each node. Default true; long runs have no room for them. */
  readonly records?: boolean;
}

/** A cluster of real members on virtual time and a simulated network; its checkers hear of every change and are asked once a virtual second. */
export class SimCluster {
  readonly clock = new SimClock({ settle: "promises" });
  readonly trace = new SimTrace();
  readonly network: SimNetwork;
  /** Running processes by host. */
  readonly nodes = new Map<string, SimNode>();
  readonly seed: number;
  readonly falseDeaths: FalseDeathChecker;
  /** Times that a member was suspected by another. */
  suspicions = 0;
  readonly #records: boolean;
  readonly #checkers: Checker[];
  readonly #convergence = new ConvergenceChecker();
  readonly #byName = new Map<string, SimNode>();
  #violation: unknown;
  #faults = 0;
  #soundSinceMs = 0;
  #nextSecondMs = 1000;
  #starts = 0;

  constructor(seed: number, options: SimClusterOptions = {}) {
    this.seed = seed;
    this.#records = options.records ?? true;
    this.network = new SimNetwork(this.clock, simRandom(seed), this.trace);
    this.falseDeaths = new FalseDeathChecker({
      runningMember: (name) => this.runningMember(name),
      soundSinceMs: (...nodes) => {
        if (this.#faults > 0 || nodes.some(({ faults }) => faults > 0)) return undefined;
        return Math.max(this.#soundSinceMs, ...nodes.map(({ soundSinceMs }) => soundSinceMs));
      },
    });
    const limits = new LimitChecker({
      nodes: () => this.nodes.values(),
      timersOf: ({ host }) => this.network.clockOf(host).timers,
      streamsOf: ({ member }) => this.network.transport(member.address)?.openStreams ?? 0,
    });
    this.#checkers = [this.falseDeaths, new IncarnationChecker(), limits];
  }

  /** The running process that has this name and has not left. */
  runningMember(name: string): SimNode | undefined {
    const node = this.#byName.get(name);
    return node?.running && !node.left ? node : undefined;
  }

  /** All running members of the cluster. */
  members(): SimNode[] {
    return [...this.nodes.values()].filter(({ left }) => !left);
  }

  /** Starts a process on host number `index`, named `n<index>` unless `options` say otherwise. */
  async start(index: number, options: StartOptions = {}): Promise<SimNode> {
    const host = hostOf(index);
    const { guard, ...rest } = options;
    const { logger, metrics, ...recorder } = createRecorder(this.#records);
    this.network.boot(host);
    const member = await createMember(
      { name: `n${index}`, bindHost: host, bindPort: gossipPort, ...rest },
      {
        clock: this.network.clockOf(host),
        random: simRandom(this.seed * 1000 + this.#starts++),
        logger,
        metrics,
        transport: this.network.factory(host),
        guard,
      },
    );
    const state = { running: true, left: false, faults: 0, soundSinceMs: this.clock.monotonic(), meta: options.meta ?? new Uint8Array() };
    const node: SimNode = { name: member.name, host, member, events: [], ...recorder, ...state };
    member.subscribe((event) => this.#onEvent(node, event));
    this.nodes.set(host, node);
    this.#byName.set(node.name, node);
    this.trace.addText(this.clock.monotonic(), `start ${node.name}@${host}`);
    for (const checker of this.#checkers) checker.started?.(node);
    return node;
  }

  /** Starts `count` processes and joins each to one that has joined before it, at most 16 to each. */
  async startJoined(count: number, options: StartOptions = {}): Promise<SimNode[]> {
    const nodes: SimNode[] = [];
    for (let index = 1; index <= count; index++) {
      const node = await this.start(index, options);
      nodes.push(node);
      if (index > 1) await this.join(node, nodes[Math.floor((index - 2) / 16)] as SimNode);
    }
    return nodes;
  }

  async join(node: SimNode, ...targets: (SimNode | string)[]): Promise<number> {
    return this.clock.until(this.joining(node, ...targets));
  }

  /** Begins to join and lets no time pass. */
  async joining(node: SimNode, ...targets: (SimNode | string)[]): Promise<number> {
    node.left = false;
    const address = (target: SimNode | string): GossipAddress => ({
      host: typeof target === "string" ? target : target.host,
      port: gossipPort,
    });
    return node.member.join(targets.map(address), neverAborted);
  }

  setMeta(node: SimNode, meta: Uint8Array): void {
    node.meta = meta;
    node.member.setMeta(meta);
  }

  /** Begins to leave and lets no time pass. */
  async leaving(node: SimNode): Promise<void> {
    node.left = true;
    await node.member.leave(neverAborted);
  }

  async leave(node: SimNode): Promise<void> {
    await this.clock.until(this.leaving(node));
  }

  /** Kills the process; it says nothing, its system refuses connections. `off`: the whole machine is gone. */
  async crash(node: SimNode, off = false): Promise<void> {
    if (!node.running) return;
    node.running = false;
    if (this.nodes.get(node.host) === node) this.nodes.delete(node.host);
    if (this.#byName.get(node.name) === node) this.#byName.delete(node.name);
    this.trace.addText(this.clock.monotonic(), `end ${node.name}@${node.host}`);
    for (const checker of this.#checkers) checker.ended?.(node, this.clock.monotonic());
    this.network.kill(node.host, off);
    await node.member.destroy();
  }

  /** A fault begins to hold `node`: until {@link release} the checkers expect nothing of it. */
  hold(node: SimNode): void {
    node.faults++;
  }

  release(node: SimNode): void {
    node.faults--;
    node.soundSinceMs = this.clock.monotonic();
  }

  /** A fault begins, or ends, that holds everyone. */
  holdAll(change: 1 | -1): void {
    this.#faults += change;
    if (change < 0) this.#soundSinceMs = this.clock.monotonic();
  }

  /** Fails the run at the end of this step. */
  fail(error: unknown): void {
    this.#violation ??= new Error(`a rule is broken at ${this.clock.monotonic()} ms (seed ${this.seed})\n${this.describe()}`, {
      cause: error,
    });
  }

  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.#afterStep());
  }

  /** Runs until `condition` holds, which is asked each `stepMs`; throws, naming the seed, if it does not within `boundMs`. */
  async runUntil(what: string, condition: () => boolean, boundMs: number, stepMs = 50): Promise<number> {
    const startMs = this.clock.monotonic();
    while (!condition()) {
      if (this.clock.monotonic() - startMs > boundMs) {
        throw new Error(`not within ${boundMs} ms: ${what} (seed ${this.seed})\n${this.describe()}`);
      }
      await this.run(stepMs);
    }
    return this.clock.monotonic() - startMs;
  }

  /** True where every member sees exactly the members as alive, with their own metadata and address. */
  isConverged(nodes: readonly SimNode[] = this.members()): boolean {
    return this.#convergence.firstWrong(nodes) === undefined;
  }

  /** True where nobody has news to tell. */
  isQuiet(): boolean {
    return [...this.nodes.values()].every(({ readGauge }) => readGauge("gitaly_cluster_gossip_queue_length") === 0);
  }

  async stop(): Promise<void> {
    this.network.heal();
    for (const node of [...this.nodes.values()]) await this.crash(node);
  }

  /** Some views that are wrong, and how. */
  describe(): string {
    const nodes = this.members();
    this.#convergence.firstWrong(nodes);
    return nodes
      .filter((node) => !this.#convergence.isRight(node))
      .slice(0, 10)
      .map((node) => this.#convergence.describe(node))
      .join("\n");
  }

  #onEvent(node: SimNode, event: MemberEvent): void {
    if (this.#records) node.events.push(event);
    if (event.type === "message" || !node.running) return;
    const nowMs = this.clock.monotonic();
    if (event.type === "suspected") this.suspicions++;
    this.trace.addText(nowMs, `${node.name} ${event.type} ${event.member.name}`);
    // A listener that throws harms nobody: the step ends first.
    this.#guarded(() => {
      for (const checker of this.#checkers) checker.event?.(node, event, nowMs);
    });
  }

  #afterStep(): void {
    const nowMs = this.clock.monotonic();
    if (nowMs >= this.#nextSecondMs) {
      this.#nextSecondMs = nowMs + 1000;
      this.#guarded(() => {
        for (const checker of this.#checkers) checker.everySecond?.(nowMs);
      });
    }
    if (this.#violation !== undefined) throw this.#violation;
  }

  #guarded(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.fail(error);
    }
  }
}

/** The address of host number `index`: 10.0.0.1 for 1. */
export function hostOf(index: number): string {
  return `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
}
