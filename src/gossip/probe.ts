import type { Clock, Random } from "../base/index.ts";
import { sharedAbortController, shuffle } from "../base/index.ts";
import type { Acks } from "./acks.ts";
import type { GossipAddress } from "./address.ts";
import type { Awareness } from "./awareness.ts";
import type { PacketMessage, Source } from "./codec/message.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import { RoundRobin } from "./round-robin.ts";
import type { NodeRecord } from "./state.ts";

export interface ProbeOptions {
  readonly name: string;
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
  readonly indirectChecks: number;
}

export interface ProbeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly acks: Acks;
  readonly awareness: Awareness;
  readonly metrics: GossipMetrics;
  readonly nodes: () => readonly NodeRecord[];
  readonly node: (name: string) => NodeRecord | undefined;
  readonly source: () => Source;
  readonly send: (to: GossipAddress, messages: readonly PacketMessage[], versions?: Uint8Array) => void;
  /** True if the node answers over a stream before the signal aborts. Never rejects. */
  readonly streamPing: (node: NodeRecord, signal: AbortSignal) => Promise<boolean>;
  readonly afterPoll: (fn: () => void) => void;
  readonly onFailed: (node: NodeRecord) => void;
  readonly onAnsweredOverStream: (node: NodeRecord) => void;
  readonly onRoundEnd: () => void;
}

/** A peer with this protocol version answers an indirect probe that fails. */
const nackVersion = 4;
/** A peer with this protocol version answers pings over streams. */
const streamPingVersion = 3;

/** Probes one member after the other: directly, then through others and over a stream. One probe runs at a time. */
export class Prober implements Disposable {
  readonly #options: ProbeOptions;
  readonly #deps: ProbeDeps;
  readonly #order: RoundRobin;
  #timer: Disposable | undefined;
  #probe: Probe | undefined;

  constructor(options: ProbeOptions, deps: ProbeDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#order = new RoundRobin(deps.random);
    this.#schedule(deps.random.int(options.probeIntervalMs));
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#probe?.[Symbol.dispose]();
  }

  #schedule(delayMs: number): void {
    const dueMs = this.#deps.clock.monotonic() + delayMs;
    this.#timer = this.#deps.clock.timer(delayMs, () => {
      // A late timer means that this process stood still, and so may its judgement be.
      if (this.#deps.clock.monotonic() - dueMs > this.#options.probeTimeoutMs) this.#deps.awareness.add(1);
      this.#tick();
    });
  }

  #tick() {
    const startedMs = this.#deps.clock.monotonic();
    const next = () => {
      this.#probe = undefined;
      this.#schedule(Math.max(0, startedMs + this.#options.probeIntervalMs - this.#deps.clock.monotonic()));
    };
    const names = new Set(
      this.#deps
        .nodes()
        .filter((node) => isProbed(node, this.#options.name))
        .map((node) => node.name),
    );
    const name = this.#order.next(names, this.#deps.onRoundEnd);
    const target = name === undefined ? undefined : this.#deps.node(name);
    if (!target || !isProbed(target, this.#options.name)) return next();
    this.#probe = new Probe(target, this.#options, this.#deps, next);
  }
}

function isProbed(node: NodeRecord, self: string): boolean {
  return node.name !== self && (node.state === "alive" || node.state === "suspect");
}

class Probe implements Disposable {
  readonly #target: NodeRecord;
  readonly #options: ProbeOptions;
  readonly #deps: ProbeDeps;
  readonly #onEnd: () => void;
  readonly #seqNo: number;
  readonly #stream = sharedAbortController();
  readonly #startedMs: number;
  readonly #intervalMs: number;
  #timers: Disposable[] = [];
  #ended = false;
  #answeredOverStream = false;
  #nacksExpected = 0;
  #nacks = 0;

  constructor(target: NodeRecord, options: ProbeOptions, deps: ProbeDeps, onEnd: () => void) {
    this.#target = target;
    this.#options = options;
    this.#deps = deps;
    this.#onEnd = onEnd;
    this.#startedMs = deps.clock.monotonic();
    this.#intervalMs = deps.awareness.scale(options.probeIntervalMs);
    this.#seqNo = deps.acks.expect({ onAck: () => this.#succeed("direct"), onNack: () => this.#nacks++ });
    const ping: PacketMessage = { type: "ping", seqNo: this.#seqNo, node: target.name, source: deps.source() };
    const { name: node, incarnation } = target;
    // A suspect hears at once what it has to refute.
    const messages: PacketMessage[] =
      target.state === "suspect" ? [ping, { type: "suspect", node, incarnation, from: options.name }] : [ping];
    deps.send(target, messages, target.versions);
    this.#timers.push(
      deps.clock.timer(options.probeTimeoutMs, () => this.#askOthers()),
      deps.clock.timer(this.#intervalMs, () => this.#expire(this.#startedMs + this.#intervalMs, false)),
    );
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#stream.abort();
    this.#deps.acks.forget(this.#seqNo);
    for (const timer of this.#timers) timer[Symbol.dispose]();
  }

  #askOthers(): void {
    const { nodes, random, send, source, streamPing } = this.#deps;
    const target = this.#target;
    const helpers = nodes().filter(({ name, state }) => state === "alive" && name !== target.name && name !== this.#options.name);
    for (const helper of shuffle(random, helpers).slice(0, this.#options.indirectChecks)) {
      const nack = (helper.versions[1] ?? 0) >= nackVersion;
      if (nack) this.#nacksExpected++;
      const { address, port, name: node } = target;
      send(helper, [{ type: "indirectPing", seqNo: this.#seqNo, target: address, port, node, nack, source: source() }], helper.versions);
    }
    if ((target.versions[1] ?? 0) < streamPingVersion) return;
    void streamPing(target, this.#stream.signal).then((answered) => {
      this.#answeredOverStream = answered;
    });
  }

  /** The time is over. What has arrived but not been read yet still counts, and a stall of this process is no proof. */
  #expire(dueMs: number, extended: boolean): void {
    const { afterPoll, awareness, clock } = this.#deps;
    const lateMs = clock.monotonic() - dueMs;
    afterPoll(() => {
      if (this.#ended) return;
      const extraMs = this.#options.probeTimeoutMs;
      if (lateMs <= extraMs / 2 || extended) return this.#conclude();
      awareness.add(1);
      this.#timers.push(clock.timer(extraMs, () => this.#expire(clock.monotonic(), true)));
    });
  }

  #conclude() {
    if (this.#answeredOverStream) return this.#succeed("stream");
    // Helpers that are silent as well speak against this node, not against the target.
    this.#deps.awareness.add(this.#nacksExpected > 0 ? this.#nacksExpected - this.#nacks : 1);
    this.#deps.metrics.probes.add(1, { result: "failed" });
    this.#end();
    this.#deps.onFailed(this.#target);
  }

  #succeed(how: "direct" | "stream"): void {
    if (this.#ended) return;
    this.#deps.awareness.add(-1);
    this.#deps.metrics.probes.add(1, { result: how });
    this.#end();
    if (how === "stream") this.#deps.onAnsweredOverStream(this.#target);
  }

  #end(): void {
    this[Symbol.dispose]();
    this.#onEnd();
  }
}
