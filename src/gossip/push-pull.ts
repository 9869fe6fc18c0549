import { type Clock, CodedError, type Random, startDeadline } from "../base/index.ts";
import type { GossipAddress } from "./address.ts";
import type { ClusterGuard } from "./cluster-guard.ts";
import type { PingMessage, PushNodeState, PushPullMessage, Source, StreamMessage } from "./codec/message.ts";
import type { Envelope } from "./codec/packet.ts";
import { protocolError } from "./codec/protocol-error.ts";
import { StreamReader, sealStream } from "./codec/stream.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { GossipStream, Transport } from "./transport.ts";

export interface PushPullOptions {
  readonly name: string;
  readonly envelope: Envelope;
  readonly compress: boolean;
  readonly streamTimeoutMs: number;
}

export interface PushPullDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly guard: ClusterGuard;
  readonly metrics: GossipMetrics;
  readonly localNodes: () => readonly PushNodeState[];
  readonly source: () => Source;
  /** A number for a ping. */
  readonly pingNumber: () => number;
  /** Takes what a peer knows into the view. */
  readonly merge: (nodes: readonly PushNodeState[]) => void;
  readonly onUserMessage: (payload: Uint8Array) => void;
}

/** Memory that all streams of peers may take at one time; one of the largest fits. */
const maxInboundBytes = 64 << 20;

/** One full exchange or one ping per stream, from both sides. Every stream has one absolute deadline. */
export class PushPull {
  readonly #options: PushPullOptions;
  readonly #deps: PushPullDeps;
  #inboundBytes = 0;

  constructor(options: PushPullOptions, deps: PushPullDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Asks for the peer's view and gives none. Merges nothing and does not check whose cluster it is. */
  query(to: GossipAddress, signal: AbortSignal): Promise<PushPullMessage> {
    return this.#exchange(to, [], false, signal);
  }

  /** Exchanges views and merges the peer's. Errors: `cluster_mismatch`, `protocol_error`, those of the network. */
  async synchronize(to: GossipAddress, join: boolean, signal: AbortSignal): Promise<void> {
    try {
      const reply = await this.#exchange(to, this.#deps.localNodes(), join, signal);
      this.checkCluster(reply, to);
      this.#deps.merge(reply.nodes);
      this.#deps.metrics.exchanges.add(1, { side: "active", result: "ok" });
    } catch (error) {
      const result = CodedError.is(error, "cluster_mismatch") ? "refused" : "failed";
      this.#deps.metrics.exchanges.add(1, { side: "active", result });
      throw error;
    }
  }

  /** Errors: `cluster_mismatch` where the peer names another cluster. */
  checkCluster(reply: PushPullMessage, to: GossipAddress): void {
    if (this.#deps.guard.acceptUserState(reply.userState)) return;
    throw new CodedError("cluster_mismatch", "the peer belongs to another cluster", { ...to });
  }

  /** True if `node` answers at `to` before the signal aborts or the deadline passes. Never rejects. */
  async ping(node: string, to: GossipAddress, signal: AbortSignal): Promise<boolean> {
    const ping: PingMessage = { type: "ping", seqNo: this.#deps.pingNumber(), node, source: this.#deps.source() };
    try {
      const reply = await this.#ask(to, ping, signal);
      return reply.type === "ack" && reply.seqNo === ping.seqNo;
    } catch {
      return false;
    }
  }

  /** Answers one stream of a peer. Never rejects. */
  async serve(stream: GossipStream, signal: AbortSignal): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, this.#options.streamTimeoutMs, signal);
    let heldBytes = 0;
    const hold = (sizeBytes: number) => {
      heldBytes += sizeBytes;
      this.#inboundBytes += sizeBytes;
      if (this.#inboundBytes > maxInboundBytes) throw protocolError("peers send too much at one time", { reason: "busy" });
    };
    try {
      const request = await this.#receive(stream, new StreamReader(this.#options.envelope, false, hold), deadline.signal);
      await this.#answer(request, stream, deadline.signal);
    } catch (error) {
      if (CodedError.is(error, "protocol_error")) {
        this.#deps.metrics.dropped.add(1, { reason: (error.fields["reason"] as string | undefined) ?? "malformed" });
      }
    } finally {
      this.#inboundBytes -= heldBytes;
      stream.close();
    }
  }

  async #answer(request: StreamMessage, stream: GossipStream, signal: AbortSignal): Promise<void> {
    if (request.type === "user") return this.#deps.onUserMessage(request.payload);
    if (request.type === "ping") {
      if (request.node !== "" && request.node !== this.#options.name) return;
      return this.#write(stream, { type: "ack", seqNo: request.seqNo, payload: null }, false, signal);
    }
    if (request.type === "pushPull") return this.#answerPushPull(request, stream, signal);
  }

  async #answerPushPull(request: PushPullMessage, stream: GossipStream, signal: AbortSignal): Promise<void> {
    const { guard, localNodes, merge, metrics } = this.#deps;
    // A peer that gives nothing and names no cluster only asks, perhaps to learn whose cluster this is.
    const isQuestion = request.nodes.length === 0 && request.userState.length === 0;
    const accepted = isQuestion || guard.acceptUserState(request.userState);
    // A refused peer learns from the user state why, and nothing else.
    const nodes = accepted ? localNodes() : [];
    await this.#write(stream, { type: "pushPull", join: request.join, nodes, userState: guard.userState() }, false, signal);
    metrics.exchanges.add(1, { side: "passive", result: accepted ? "ok" : "refused" });
    if (accepted) merge(request.nodes);
  }

  async #exchange(to: GossipAddress, nodes: readonly PushNodeState[], join: boolean, signal: AbortSignal): Promise<PushPullMessage> {
    const reply = await this.#ask(to, { type: "pushPull", join, nodes, userState: this.#deps.guard.userState() }, signal);
    if (reply.type === "pushPull") return reply;
    const error = reply.type === "error" ? reply.error : undefined;
    throw new CodedError("protocol_error", "a peer did not answer with its state", { ...to, error });
  }

  async #ask(to: GossipAddress, message: StreamMessage, signal: AbortSignal): Promise<StreamMessage> {
    using deadline = startDeadline(this.#deps.clock, this.#options.streamTimeoutMs, signal);
    const stream = await this.#deps.transport.dial(to, deadline.signal);
    try {
      await this.#write(stream, message, true, deadline.signal);
      return await this.#receive(stream, new StreamReader(this.#options.envelope, true), deadline.signal);
    } finally {
      stream.close();
    }
  }

  #write(stream: GossipStream, message: StreamMessage, dialled: boolean, signal: AbortSignal): Promise<void> {
    const { envelope, compress } = this.#options;
    return stream.write(sealStream(message, { ...envelope, compress, dialled }, this.#deps.random), signal);
  }

  async #receive(stream: GossipStream, reader: StreamReader, signal: AbortSignal): Promise<StreamMessage> {
    for (;;) {
      const chunk = await stream.read(signal);
      if (!chunk) throw new CodedError("protocol_error", "a stream ended early");
      const message = reader.push(chunk);
      if (message) return message;
    }
  }
}
