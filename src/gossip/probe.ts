import type { Clock, Random } from "../base/index.ts";
import { sharedAbortController } from "../base/index.ts";
import type { Acks } from "./acks.ts";
import type { GossipAddress } from "./address.ts";
import type { Awareness } from "./awareness.ts";
import type { IndirectPingMessage, PacketMessage, Source } from "./codec/message.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { NodeRecord } from "./node-record.ts";
import type { StreamAnswer } from "./push-pull.ts";

export interface ProbeOptions {
  readonly name: string;
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
  readonly indirectChecks: number;
  readonly streamProbes: boolean;
  readonly crashProof: boolean;
}

export interface ProbeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly acks: Acks;
  readonly awareness: Awareness;
  readonly metrics: GossipMetrics;
  /** Up to `count` different nodes at random, of those that are accepted. */
  readonly sample: (count: number, accept: (node: NodeRecord) => boolean) => readonly NodeRecord[];
  readonly source: () => Source;
  readonly send: (to: GossipAddress, messages: readonly PacketMessage[], versions?: Uint8Array) => void;
  /** Pings the node over a stream until the signal aborts. Never rejects. */
  readonly streamPing: (node: NodeRecord, signal: AbortSignal) => Promise<StreamAnswer>;
  readonly afterPoll: (fn: () => void) => void;
  readonly onFailed: (node: NodeRecord) => void;
  /** The node's port refused streams of this member and of another. */
  readonly onRefused: (node: NodeRecord) => void;
  readonly onAnsweredOverStream: (node: NodeRecord) => void;
  /** The node itself answered in time. */
  readonly onDirectAck: (node: NodeRecord, roundTripMs: number, payload: Uint8Array | null) => void;
}

/** A peer with this protocol version answers an indirect probe that fails. */
const nackVersion = 4;
/** A peer with this protocol version answers pings over streams. */
const streamPingVersion = 3;

/** One probe of one member: directly, then through others and over a stream. */
export class Probe implements Disposable {
  readonly #target: NodeRecord;
  readonly #options: ProbeOptions;
  readonly #deps: ProbeDeps;
  readonly #onEnd: (isRefusedAlive: boolean) => void;
  readonly #seqNos: number[] = [];
  readonly #startedMs: number;
  readonly #intervalMs: number;
  #stream: AbortController | undefined;
  #timers: Disposable[] = [];
  #ended = false;
  #othersAsked = false;
  #streamAnswer: StreamAnswer = "silent";
  #helpers: readonly NodeRecord[] = [];
  #nacksExpected = 0;
  #nacks = 0;
  #proofsAwaited = 0;

  constructor(target: NodeRecord, options: ProbeOptions, deps: ProbeDeps, onEnd: (isRefusedAlive: boolean) => void) {
    this.#target = target;
    this.#options = options;
    this.#deps = deps;
    this.#onEnd = onEnd;
    this.#startedMs = deps.clock.monotonic();
    this.#intervalMs = deps.awareness.scale(options.probeIntervalMs);
    const seqNo = this.#expect(() => this.#onNack());
    const ping: PacketMessage = { type: "ping", seqNo, node: target.name, source: deps.source() };
    const { name: node, incarnation } = target;
    // A suspect hears at once what it has to refute.
    const messages: PacketMessage[] =
      target.state === "suspect" ? [ping, { type: "suspect", node, incarnation, from: options.name }] : [ping];
    this.#timers.push(
      deps.clock.timer(options.probeTimeoutMs, () => this.#askOthers(seqNo)),
      deps.clock.timer(this.#intervalMs, () => this.#expire(this.#startedMs + this.#intervalMs, false)),
    );
    deps.send(target, messages, target.versions);
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#stream?.abort();
    for (const seqNo of this.#seqNos) this.#deps.acks.forget(seqNo);
    for (const timer of this.#timers) timer[Symbol.dispose]();
  }

  #expect(onNack: (refused: boolean) => void): number {
    const seqNo = this.#deps.acks.expect({ onAck: (payload) => this.#onAck(payload), onNack });
    this.#seqNos.push(seqNo);
    return seqNo;
  }

  #onAck(payload: Uint8Array | null): void {
    if (this.#ended) return;
    const roundTripMs = this.#deps.clock.monotonic() - this.#startedMs;
    this.#succeed("direct");
    // Once others were asked, an answer may be one that they passed on.
    if (!this.#othersAsked) this.#deps.onDirectAck(this.#target, roundTripMs, payload);
  }

  #askOthers(seqNo: number): void {
    this.#othersAsked = true;
    const target = this.#target;
    const { streamProbes, indirectChecks, name: self } = this.#options;
    this.#helpers = this.#deps.sample(indirectChecks, ({ name, state }) => state === "alive" && name !== target.name && name !== self);
    for (const helper of this.#helpers) {
      const nack = (helper.versions[1] ?? 0) >= nackVersion;
      if (nack) this.#nacksExpected++;
      this.#ask(helper, seqNo, { nack });
    }
    if (!streamProbes || (target.versions[1] ?? 0) < streamPingVersion) return;
    this.#stream = sharedAbortController();
    void this.#deps.streamPing(target, this.#stream.signal).then((answer) => this.#onStreamAnswer(answer));
  }

  #ask(helper: NodeRecord, seqNo: number, kind: Pick<IndirectPingMessage, "nack" | "stream">): void {
    const { address, port, name: node } = this.#target;
    const request: PacketMessage = { type: "indirectPing", seqNo, target: address, port, node, source: this.#deps.source(), ...kind };
    this.#deps.send(helper, [request], helper.versions);
  }

  #onStreamAnswer(answer: StreamAnswer) {
    this.#streamAnswer = answer;
    if (this.#ended || answer !== "refused") return;
    if (this.#options.crashProof) this.#askForProof();
    this.#concludeEarly();
  }

  /** One refusal may be a matter of this path alone: with that of another member nothing is left to wait for. */
  #askForProof(): void {
    const seqNo = this.#expect((refused) => {
      this.#proofsAwaited--;
      if (refused) this.#concludeRefused();
      else this.#concludeEarly();
    });
    this.#proofsAwaited = this.#helpers.length;
    for (const helper of this.#helpers) this.#ask(helper, seqNo, { nack: true, stream: true });
  }

  #onNack(): void {
    this.#nacks++;
    this.#concludeEarly();
  }

  /** Nobody reaches the target and nothing listens there: the rest of the interval can bring no answer. */
  #concludeEarly(): void {
    const isOver = this.#helpers.length > 0 && this.#nacks >= this.#helpers.length && this.#proofsAwaited <= 0;
    if (!this.#ended && this.#streamAnswer === "refused" && isOver) this.#conclude();
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
    if (this.#streamAnswer === "answered") return this.#succeed("stream");
    // Helpers that are silent as well speak against this node, not against the target. Datagrams may come twice.
    this.#deps.awareness.add(this.#nacksExpected > 0 ? Math.max(0, this.#nacksExpected - this.#nacks) : 1);
    this.#deps.metrics.probes.add(1, { result: "failed" });
    this.#end(false);
    this.#deps.onFailed(this.#target);
  }

  #concludeRefused(): void {
    if (this.#ended) return;
    this.#deps.metrics.probes.add(1, { result: "refused" });
    this.#end(true);
    this.#deps.onRefused(this.#target);
  }

  #succeed(how: "direct" | "stream"): void {
    if (this.#ended) return;
    this.#deps.awareness.add(-1);
    this.#deps.metrics.probes.add(1, { result: how });
    this.#end(this.#streamAnswer === "refused");
    if (how === "stream") this.#deps.onAnsweredOverStream(this.#target);
  }

  /** `isRefusedAlive`: the target's streams are refused and it lives, as far as is known or if it comes back. */
  #end(isRefusedAlive: boolean): void {
    this[Symbol.dispose]();
    this.#onEnd(isRefusedAlive);
  }
}
