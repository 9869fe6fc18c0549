import { type Clock, CodedError, linkSignals, type Random, sharedAbortController, startDeadline } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { Acks } from "./acks.ts";
import { bytesToIp, checkPort, formatAddress, type GossipAddress } from "./address.ts";
import { Awareness } from "./awareness.ts";
import { BroadcastQueue, retransmitLimit } from "./broadcast-queue.ts";
import type { ClaimedNode, ClusterGuard } from "./cluster-guard.ts";
import type { Envelope } from "./codec/envelope.ts";
import type { PacketMessage, Source } from "./codec/message.ts";
import { encodePacketMessage } from "./codec/packet-message.ts";
import { DirectMessages } from "./direct-messages.ts";
import { EventHub } from "./event-hub.ts";
import { type GossipMetrics, gossipMetrics } from "./gossip-metrics.ts";
import { GossipRounds } from "./gossip-rounds.ts";
import { HookCalls } from "./hook-calls.ts";
import type { MemberHooks } from "./hooks.ts";
import { Joiner } from "./joiner.ts";
import { LimitedWarnings } from "./limited-warnings.ts";
import type { Member, PeerView, SendOptions } from "./member.ts";
import type { MemberEvent, MemberRecord } from "./member-event.ts";
import type { NodeRecord } from "./node-record.ts";
import type { GossipTuning } from "./options.ts";
import { PacketDispatch } from "./packet-dispatch.ts";
import { PacketIo } from "./packet-io.ts";
import { PathWarnings } from "./path-warnings.ts";
import { ProbeHelper } from "./probe-helper.ts";
import { Prober } from "./prober.ts";
import { PushPull, type PushPullOptions } from "./push-pull.ts";
import { runPushPullRounds } from "./push-pull-rounds.ts";
import { Rejoiner } from "./rejoin.ts";
import { MembershipState } from "./state.ts";
import { StateRunner } from "./state-runner.ts";
import { Strangers } from "./strangers.ts";
import { SuspicionTimers } from "./suspicion-timers.ts";
import type { GossipStream, Transport } from "./transport.ts";
import { checkMeta, maxMetaBytes } from "./wire-checks.ts";

export interface GossipMemberOptions {
  readonly name: string;
  readonly address: Uint8Array;
  readonly port: number;
  readonly meta: Uint8Array;
  readonly envelope: Envelope;
  /** Protocol min, max, current; delegate min, max, current. */
  readonly versions: Uint8Array;
  readonly tuning: GossipTuning;
}

export interface GossipMemberDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly transport: Transport;
  readonly guard: ClusterGuard;
  readonly hooks: MemberHooks;
  /** False: nothing is taken from this IP address. */
  readonly isAllowed: (host: string) => boolean;
}

const maxQueueEntries = 4096;
/** {@link GossipMember.close} leaves for at most this long. */
const closeTimeoutMs = 5000;

/** Connects the rules of {@link MembershipState} with time and the network. */
export class GossipMember implements Member {
  readonly name: string;
  readonly #tuning: GossipTuning;
  readonly #deps: GossipMemberDeps;
  readonly #state: MembershipState;
  readonly #queue: BroadcastQueue;
  readonly #awareness: Awareness;
  readonly #metrics: GossipMetrics;
  readonly #io: PacketIo;
  readonly #acks: Acks;
  readonly #helper: ProbeHelper;
  readonly #suspicions: SuspicionTimers;
  readonly #pushPull: PushPull;
  readonly #joiner: Joiner;
  readonly #rejoiner: Rejoiner;
  readonly #warnings: PathWarnings;
  readonly #rounds: GossipRounds;
  readonly #events: EventHub;
  readonly #hooks: HookCalls;
  readonly #messages: DirectMessages;
  readonly #runner: StateRunner;
  readonly #life = sharedAbortController();
  /** Probing, full exchanges and rejoining: what a member does that has not left. */
  #activity: { readonly stop: AbortController; readonly prober: Prober; readonly ended: Promise<unknown> };
  #leaveSent: Promise<void> | undefined;
  #onLeaveSent: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #destroying: Promise<void> | undefined;

  constructor(options: GossipMemberOptions, deps: GossipMemberDeps) {
    const { name, envelope, tuning, versions } = options;
    const protocolVersion = versions[2] as number;
    const { clock, random, transport, guard } = deps;
    this.name = name;
    this.#tuning = tuning;
    this.#deps = deps;
    const acceptNode = (claimed: ClaimedNode) => deps.isAllowed(claimed.host) && guard.acceptNode(claimed);
    this.#state = new MembershipState({ ...tuning, ...options, acceptNode }, clock.monotonic());
    this.#queue = new BroadcastQueue({ retransmitMultiplier: tuning.retransmitMultiplier, maxEntries: maxQueueEntries });
    this.#awareness = new Awareness(tuning.awarenessMaxMultiplier);
    this.#metrics = gossipMetrics(deps.metrics, {
      countByState: () => this.#countByState(),
      queueLength: () => this.#queue.size,
      healthScore: () => this.#awareness.score,
    });
    this.#hooks = new HookCalls(deps.hooks, deps);
    this.#events = new EventHub({ counter: this.#metrics.events, logger: deps.logger });
    const clusterSize = () => this.#state.size;
    this.#io = new PacketIo({ ...tuning, envelope, protocolVersion }, { ...deps, queue: this.#queue, metrics: this.#metrics, clusterSize });
    this.#acks = new Acks(random);
    this.#warnings = new PathWarnings(deps);
    const node = (known: string) => this.#state.node(known);
    this.#rounds = new GossipRounds(
      { ...tuning, name },
      {
        ...{ clock, random, node, queue: this.#queue },
        living: () => this.#state.table.living,
        failed: () => this.#state.table.failed,
        transmissions: () => retransmitLimit(tuning.retransmitMultiplier, this.#state.size),
        send: (to, counted) => this.#io.send(to, to.state === "alive" ? [] : [this.#ping(to)], to.versions, counted),
      },
    );
    const source = () => this.#source();
    const send = this.#io.send.bind(this.#io);
    const streamPing = (to: NodeRecord, signal: AbortSignal) => this.#pushPull.ping(to.name, to, signal);
    this.#helper = new ProbeHelper(tuning, { clock, acks: this.#acks, node, source, send, streamPing });
    this.#suspicions = new SuspicionTimers(
      { stallMs: tuning.probeTimeoutMs / 2, graceMs: tuning.probeIntervalMs },
      {
        clock,
        afterPoll: transport.afterPoll.bind(transport),
        onExpired: (suspect, incarnation) => this.#runner.apply({ type: "suspicionExpired", node: suspect, incarnation }),
      },
    );
    this.#pushPull = this.#createPushPull({ ...tuning, name, envelope, protocolVersion });
    this.#messages = new DirectMessages({ node, transport, io: this.#io, pushPull: this.#pushPull, life: this.#life.signal });
    const succeed = (incarnation: number) => this.#runner.apply({ type: "succeed", incarnation });
    this.#joiner = new Joiner({ clock, random, transport, pushPull: this.#pushPull, own: () => this.#state.own, succeed });
    this.#rejoiner = this.#createRejoiner();
    this.#runner = this.#createRunner();
    const packets = new PacketDispatch({
      ...{ name, acks: this.#acks, events: this.#events, helper: this.#helper, hooks: this.#hooks, io: this.#io },
      ...{ metrics: this.#metrics, isAllowed: deps.isAllowed },
      onClaim: (claim) => this.#runner.apply(claim),
      onProbed: (by) => this.#onProbed(by),
    });
    transport.start({
      onPacket: (bytes, from) => {
        if (!this.#life.signal.aborted) packets.receive(bytes, from);
      },
      onStream: (stream) => this.#onStream(stream),
    });
    this.#activity = this.#startActivity();
  }

  get address(): GossipAddress {
    const { address, port } = this.#state.own;
    return { host: bytesToIp(address) ?? "", port };
  }

  members(): readonly MemberRecord[] {
    return this.#state.nodes;
  }

  async join(addresses: readonly GossipAddress[], signal: AbortSignal): Promise<number> {
    this.#life.signal.throwIfAborted();
    if (this.#closing) throw new CodedError("cancelled", "the gossip member is being closed");
    addresses.forEach(checkPort);
    await this.#return();
    for (const address of addresses) this.#rejoiner.addSeed(address);
    using linked = linkSignals(signal, this.#life.signal);
    return await this.#joiner.join(addresses, linked.signal);
  }

  setMeta(meta: Uint8Array): void {
    checkMeta(meta);
    this.#runner.apply({ type: "setMeta", meta: Uint8Array.from(meta) });
  }

  broadcast(payload: Uint8Array): void {
    if (payload.length > maxMetaBytes) {
      throw new CodedError("limit_exceeded", "a user message is longer than 512 bytes", { sizeBytes: payload.length });
    }
    this.#queue.queueUser(encodePacketMessage({ type: "user", payload }));
    this.#rounds.wake();
  }

  send(to: string | GossipAddress, payload: Uint8Array, options: SendOptions): Promise<void> {
    return this.#messages.send(to, payload, options);
  }

  async leave(signal: AbortSignal): Promise<void> {
    if (this.#life.signal.aborted) return;
    if (!this.#state.leaving) {
      const hasPeers = this.#state.nodes.some(({ name, state }) => name !== this.name && state === "alive");
      this.#leaveSent = new Promise((resolve) => {
        this.#onLeaveSent = resolve;
      });
      this.#runner.apply({ type: "leave" });
      if (!hasPeers || this.#state.nameLost) this.#onLeaveSent?.();
    }
    await this.#stopActivity();
    const stopWaiting = sharedAbortController();
    using linked = linkSignals(signal, this.#life.signal, stopWaiting.signal);
    // Twice the rounds that the message needs: in a small cluster a round reaches fewer than it could.
    const rounds = 2 * Math.max(1, retransmitLimit(this.#tuning.retransmitMultiplier, this.#state.size));
    const waiting = this.#deps.clock.sleep(rounds * this.#tuning.gossipIntervalMs, linked.signal);
    await Promise.race([this.#leaveSent, waiting.catch(() => {})]);
    stopWaiting.abort();
  }

  subscribe(listener: (event: MemberEvent) => void): Disposable {
    return this.#events.subscribe(listener);
  }

  async queryMembers(address: GossipAddress, signal: AbortSignal): Promise<PeerView> {
    checkPort(address);
    const [host = address.host] = await this.#deps.transport.resolve(address.host, signal);
    const { nodes, userState } = await this.#pushPull.query({ host, port: address.port }, signal);
    const members = nodes.map(({ address: bytes, versions: _, ...node }) => ({ ...node, host: bytesToIp(bytes) ?? "" }));
    return { members, userState };
  }

  close(): Promise<void> {
    this.#closing ??= this.#leaveAndDestroy();
    return this.#closing;
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy();
    return this.#destroying;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #leaveAndDestroy(): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, closeTimeoutMs, this.#life.signal);
    await this.leave(deadline.signal);
    await this.destroy();
  }

  async #destroy(): Promise<void> {
    this.#life.abort(new CodedError("cancelled", "the gossip member is closed"));
    this.#helper[Symbol.dispose]();
    this.#suspicions[Symbol.dispose]();
    this.#runner[Symbol.dispose]();
    this.#rounds[Symbol.dispose]();
    await Promise.all([this.#stopActivity(), this.#deps.transport.close()]);
  }

  /** Undoes a leave. */
  async #return(): Promise<void> {
    if (!this.#state.leaving) return;
    await this.#stopActivity();
    this.#life.signal.throwIfAborted();
    // Another call may have waited as well.
    if (!this.#state.leaving) return;
    this.#runner.apply({ type: "rejoin" });
    this.#activity = this.#startActivity();
  }

  #createRunner(): StateRunner {
    const { clock } = this.#deps;
    const { probeIntervalMs, rejoinIntervalMs } = this.#tuning;
    const strangers = new Strangers(
      { intervalMs: probeIntervalMs, sameAddressMs: rejoinIntervalMs },
      { clock, synchronize: (to) => this.#pushPull.synchronize(to, true, this.#life.signal).catch(() => {}) },
    );
    return new StateRunner({
      ...{ clock, state: this.#state, queue: this.#queue, suspicions: this.#suspicions, awareness: this.#awareness },
      ...{ metrics: this.#metrics, events: this.#events, send: this.#io.send.bind(this.#io) },
      onQueued: () => this.#rounds.wake(),
      onEvent: (event) => this.#onEvent(event),
      onUnknown: (address) => {
        if (!this.#state.leaving) strangers.heard(address);
      },
      onForgotten: (record) => {
        if (record.state === "dead") this.#rejoiner.remember(record);
      },
      onLeaveSent: () => this.#onLeaveSent?.(),
    });
  }

  #createPushPull(options: PushPullOptions): PushPull {
    return new PushPull(options, {
      ...this.#deps,
      hooks: this.#hooks,
      metrics: this.#metrics,
      localNodes: () => this.#state.nodes,
      source: () => this.#source(),
      pingNumber: () => this.#acks.number(),
      merge: (nodes, isSole) => this.#runner.apply({ type: "merge", nodes, isSole }),
      onUserMessage: (payload) => this.#events.emit({ type: "message", payload }),
    });
  }

  #createRejoiner(): Rejoiner {
    const { transport, logger } = this.#deps;
    const refusals = new LimitedWarnings(this.#deps);
    return new Rejoiner(this.#tuning, {
      ...this.#deps,
      nodes: () => this.#state.nodes,
      self: () => this.address,
      resolve: transport.resolve.bind(transport),
      viewOf: async (to, signal) => (await this.#pushPull.preview(to, signal)).nodes,
      synchronize: (to, signal) => this.#pushPull.synchronize(to, true, signal),
      onAttempt: (to, error) => {
        const fields = { address: formatAddress(to), error };
        if (error === undefined) logger.info("reached a lost gossip peer", fields);
        else if (CodedError.is(error, "cluster_mismatch")) refusals.warn(error.message, fields);
        else logger.debug("a lost gossip peer does not answer", fields);
      },
    });
  }

  #startActivity() {
    const { clock, random, transport, logger } = this.#deps;
    const stop = sharedAbortController();
    const clusterSize = () => this.#state.size;
    const prober = new Prober(
      { ...this.#tuning, name: this.name, confirmations: this.#tuning.suspicionMultiplier - 2 },
      {
        ...{ clock, random, acks: this.#acks, awareness: this.#awareness, metrics: this.#metrics },
        living: () => this.#state.table.living,
        nodes: () => this.#state.nodes,
        node: (name) => this.#state.node(name),
        sample: (count, accept) => this.#state.table.sample(random, count, accept),
        source: () => this.#source(),
        send: this.#io.send.bind(this.#io),
        streamPing: (node, signal) => this.#pushPull.ping(node.name, node, signal),
        afterPoll: transport.afterPoll.bind(transport),
        onFailed: ({ name, incarnation }) => this.#runner.apply({ type: "suspect", node: name, incarnation, from: this.name }),
        onRefused: ({ name, incarnation }) => this.#runner.apply({ type: "refused", node: name, incarnation }),
        onAnsweredOverStream: (node) => this.#warnings.overStreamOnly(node),
        onDirectAck: (member, roundTripMs, payload) => this.#hooks.onAck({ member, roundTripMs, payload: payload ?? new Uint8Array() }),
        onRoundEnd: () => this.#runner.apply({ type: "reap", olderThanMs: this.#tuning.gossipToTheDeadMs }),
      },
    );
    const peer = () => this.#state.table.sample(random, 1, ({ name, state }) => name !== this.name && state === "alive")[0];
    const synchronize = (to: NodeRecord, signal: AbortSignal) => this.#pushPull.synchronize(to, false, signal);
    const ended = Promise.all([
      runPushPullRounds(this.#tuning.pushPullIntervalMs, { clock, random, logger, clusterSize, peer, synchronize }, stop.signal),
      this.#rejoiner.run(stop.signal),
    ]);
    return { stop, prober, ended };
  }

  async #stopActivity(): Promise<void> {
    this.#activity.prober[Symbol.dispose]();
    this.#activity.stop.abort(new CodedError("cancelled", "the gossip member left"));
    await this.#activity.ended;
  }

  async #onStream(stream: GossipStream): Promise<void> {
    if (this.#deps.isAllowed(stream.remote.host)) return await this.#pushPull.serve(stream, this.#life.signal);
    this.#metrics.dropped.add(1, { reason: "network" });
    stream.close();
  }

  /** Suspects of others may be probed next. */
  #onEvent(event: MemberEvent): void {
    if (event.type === "suspected" && event.from !== this.name) this.#activity.prober.checkSuspect(event.member.name);
  }

  /** A probe of a member that is alive here says nothing new. */
  #onProbed({ node, address, port }: Source): void {
    if (node === "" || node === this.name || address.length === 0 || port === 0) return;
    if (this.#state.node(node)?.state !== "alive") this.#runner.apply({ type: "heard", node, address, port });
  }

  /** Goes first to where `node` may be gone: who is there instead can tell that what follows is not for it. */
  #ping({ name }: NodeRecord): PacketMessage {
    return { type: "ping", seqNo: this.#acks.number(), node: name, source: this.#source() };
  }

  #source(): Source {
    const { address, port, node } = this.#state.own;
    return { address, port, node };
  }

  #countByState(): Record<string, number> {
    const counts = { alive: 0, suspect: 0, dead: 0, left: 0 };
    for (const { state } of this.#state.nodes) counts[state]++;
    return counts;
  }
}
