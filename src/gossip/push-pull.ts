import { type Clock, CodedError, errnoOf, type Random } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { formatAddress, type GossipAddress } from "./address.ts";
import type { ClusterGuard } from "./cluster-guard.ts";
import type { PingMessage, PushNodeState, PushPullMessage, Source, StreamMessage } from "./codec/message.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { HookCalls } from "./hook-calls.ts";
import { LimitedWarnings } from "./limited-warnings.ts";
import { type Reply, StreamIo, type StreamIoOptions } from "./stream-io.ts";
import type { GossipStream, Transport } from "./transport.ts";
import { UserState } from "./user-state.ts";
import { checkVersions } from "./versions.ts";
import { withPort } from "./wire-checks.ts";

export interface PushPullOptions extends StreamIoOptions {
  readonly name: string;
  readonly protocolVersion: number;
}

export interface PushPullDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transport: Transport;
  readonly guard: ClusterGuard;
  readonly hooks: HookCalls;
  readonly metrics: GossipMetrics;
  readonly localNodes: () => readonly PushNodeState[];
  readonly source: () => Source;
  /** A number for a ping. */
  readonly pingNumber: () => number;
  /** Takes what a peer knows into the view. `isSole`: no other peer was given the view and has not given its own yet. */
  readonly merge: (nodes: readonly PushNodeState[], isSole: boolean) => void;
  readonly onUserMessage: (payload: Uint8Array) => void;
}

/** What came of a ping over a stream. `refused`: its host says that nobody listens there. */
export type StreamAnswer = "answered" | "refused" | "silent";

const maxMismatched = 1024;

/** What two members say to each other over streams: full exchanges, pings, user messages. */
export class PushPull {
  readonly #options: PushPullOptions;
  readonly #deps: PushPullDeps;
  readonly #io: StreamIo;
  readonly #userState: UserState;
  /** Addresses of peers whose last answer could not be decrypted. */
  readonly #mismatched = new Set<string>();
  readonly #warnings: LimitedWarnings;
  /** Exchanges in which the peer was given the view and its own has not been merged yet. */
  readonly #open = new Set<object>();

  constructor(options: PushPullOptions, deps: PushPullDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#warnings = new LimitedWarnings(deps);
    this.#io = new StreamIo(options, { ...deps, warnings: this.#warnings });
    this.#userState = new UserState(deps);
  }

  /** Asks for the peer's view and gives none. Merges nothing and does not check whose cluster it is. Errors: as of {@link synchronize}. */
  query(to: GossipAddress, signal: AbortSignal): Promise<PushPullMessage> {
    return this.#exchange(to, { type: "pushPull", join: false, nodes: [], userState: this.#userState.question() }, signal);
  }

  /** As {@link query}, of a peer that may belong to another cluster, which is then an error. Errors: as of {@link synchronize}. */
  preview(to: GossipAddress, signal: AbortSignal): Promise<PushPullMessage> {
    return this.#countingFailures(async () => {
      const reply = await this.query(to, signal);
      this.#checkCluster(reply, to);
      return reply;
    });
  }

  /**
   * Exchanges views and merges the peer's. Errors: `cluster_mismatch` with a `reason` (id, key or versions), `protocol_error`,
   * those of the network.
   */
  async synchronize(to: GossipAddress, join: boolean, signal: AbortSignal): Promise<void> {
    await this.#countingFailures(async () => {
      // A peer that may read this member but not be read would take it for a member that never answers.
      if (this.#mismatched.has(formatAddress(to))) await this.query(to, signal);
      const exchange = {};
      const view = (): PushPullMessage => {
        this.#open.add(exchange);
        return { type: "pushPull", join, nodes: this.#deps.localNodes(), userState: this.#userState.local(join) };
      };
      try {
        const reply = await this.#exchange(to, view, signal);
        this.#checkCluster(reply, to);
        this.#merge(reply, join);
      } finally {
        this.#open.delete(exchange);
      }
    });
    this.#deps.metrics.exchanges.add(1, { side: "active", result: "ok" });
  }

  async #countingFailures<T>(exchange: () => Promise<T>): Promise<T> {
    try {
      return await exchange();
    } catch (error) {
      const result = CodedError.is(error, "cluster_mismatch") ? "refused" : "failed";
      this.#deps.metrics.exchanges.add(1, { side: "active", result });
      throw error;
    }
  }

  /** Errors: `cluster_mismatch` where the peer names another cluster, or one whose versions do not go with those known here. */
  #checkCluster(reply: PushPullMessage, to: GossipAddress): void {
    if (!this.#userState.accepts(reply.userState)) {
      throw new CodedError("cluster_mismatch", "the peer belongs to another cluster", { ...to, reason: "id" });
    }
    checkVersions(reply.nodes, this.#deps.localNodes());
  }

  /** Pings `node` at `to`, until the signal aborts or the deadline passes. Never rejects. */
  async ping(node: string, to: GossipAddress, signal: AbortSignal): Promise<StreamAnswer> {
    const ping: PingMessage = { type: "ping", seqNo: this.#deps.pingNumber(), node, source: this.#deps.source() };
    try {
      const reply = await this.#io.ask(to, ping, signal);
      return reply.type === "ack" && reply.seqNo === ping.seqNo ? "answered" : "silent";
    } catch (error) {
      return errnoOf(error) === "ECONNREFUSED" ? "refused" : "silent";
    }
  }

  /** Sends a user message to the member at `to`. Errors: `deadline_exceeded`, those of the network. */
  sendUser(to: GossipAddress, payload: Uint8Array, signal: AbortSignal): Promise<void> {
    return this.#io.tell(to, { type: "user", payload }, signal);
  }

  /** Answers one stream of a peer. Never rejects. */
  serve(stream: GossipStream, signal: AbortSignal): Promise<void> {
    return this.#io.serve(stream, signal, (message, reply) => this.#answer(message, reply));
  }

  async #answer(request: StreamMessage, reply: Reply): Promise<void> {
    if (request.type === "user") return this.#deps.onUserMessage(request.payload);
    if (request.type === "ping") {
      if (request.node !== "" && request.node !== this.#options.name) return;
      return reply({ type: "ack", seqNo: request.seqNo, payload: null });
    }
    if (request.type !== "pushPull") return;
    this.#open.add(request);
    try {
      await this.#answerPushPull(request, reply);
    } finally {
      this.#open.delete(request);
    }
  }

  async #answerPushPull(request: PushPullMessage, reply: Reply): Promise<void> {
    const { localNodes, metrics } = this.#deps;
    const { join } = request;
    // A peer that gives nothing and names no cluster only asks, perhaps to learn whose cluster this is.
    const isQuestion = request.nodes.length === 0 && request.userState.length === 0;
    const accepted = isQuestion || this.#userState.accepts(request.userState);
    // A refused peer learns from the guard's part of the user state why, and nothing else.
    const userState = accepted ? this.#userState.local(join) : this.#userState.question();
    await reply({ type: "pushPull", join, nodes: accepted ? localNodes() : [], userState });
    try {
      // After the answer, from which the peer finds out as well.
      if (accepted) checkVersions(request.nodes, localNodes());
    } catch (error) {
      metrics.exchanges.add(1, { side: "passive", result: "refused" });
      return this.#warnings.warn("a peer's versions do not go with those of this cluster", { error });
    }
    metrics.exchanges.add(1, { side: "passive", result: accepted ? "ok" : "refused" });
    if (accepted) this.#merge({ ...request, nodes: this.#withPorts(request.nodes) }, join);
  }

  #merge({ nodes, userState }: PushPullMessage, join: boolean): void {
    this.#deps.merge(nodes, this.#open.size === 1);
    this.#userState.merge(userState, join);
  }

  async #exchange(to: GossipAddress, message: PushPullMessage | (() => PushPullMessage), signal: AbortSignal): Promise<PushPullMessage> {
    const reply = await this.#io.ask(to, message, signal).catch((error) => {
      if (CodedError.is(error, "cluster_mismatch")) this.#noteMismatch(formatAddress(to));
      throw error;
    });
    this.#mismatched.delete(formatAddress(to));
    if (reply.type === "pushPull") return { ...reply, nodes: this.#withPorts(reply.nodes) };
    throw new CodedError("protocol_error", "a peer did not answer with its state", { ...to });
  }

  #noteMismatch(address: string): void {
    if (this.#mismatched.size >= maxMismatched) this.#mismatched.clear();
    this.#mismatched.add(address);
  }

  #withPorts(nodes: readonly PushNodeState[]): readonly PushNodeState[] {
    return nodes.map((node) => withPort(node, this.#deps.transport.address.port, this.#options.protocolVersion));
  }
}
