import { type Clock, CodedError, type Random, startDeadline } from "../base/index.ts";
import { formatAddress, type GossipAddress } from "./address.ts";
import type { Envelope } from "./codec/envelope.ts";
import type { StreamMessage } from "./codec/message.ts";
import { protocolError } from "./codec/protocol-error.ts";
import { StreamReader, sealStream } from "./codec/stream.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { LimitedWarnings } from "./limited-warnings.ts";
import type { GossipStream, Transport } from "./transport.ts";

export interface StreamIoOptions {
  readonly envelope: Envelope;
  readonly compress: boolean;
  readonly streamTimeoutMs: number;
}

export interface StreamIoDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly metrics: GossipMetrics;
  readonly warnings: LimitedWarnings;
}

/** Sends the one answer to the one message of a stream. */
export type Reply = (message: StreamMessage) => Promise<void>;

/** Memory that all streams of peers may take at one time; one of the largest fits. */
const maxInboundBytes = 64 << 20;

/** Of what goes wrong with a frame: what is no fault of the frame, or comes from who would not understand the answer. */
const unansweredReasons: ReadonlySet<string> = new Set(["busy", "ended", "foreign"]);

/** One message on a stream and at most one answer, from both sides. Every stream has one absolute deadline. */
export class StreamIo {
  readonly #options: StreamIoOptions;
  readonly #deps: StreamIoDeps;
  #inboundBytes = 0;

  constructor(options: StreamIoOptions, deps: StreamIoDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Sends `message` to the peer at `to` and reads its answer. A function is called once the stream stands, which may take long:
   * so it tells what is true then. Errors: `cluster_mismatch` with the reason `key` where the two do
   * not encrypt alike, `protocol_error`, `deadline_exceeded`, those of the network.
   */
  async ask(to: GossipAddress, message: StreamMessage | (() => StreamMessage), signal: AbortSignal): Promise<StreamMessage> {
    return this.#dial(to, signal, async (stream, deadline) => {
      await this.#write(stream, typeof message === "function" ? message() : message, true, deadline);
      try {
        const reply = await receive(stream, new StreamReader(this.#options.envelope, true), deadline);
        if (reply.type === "error") throw this.#peerError(reply.error, to);
        return reply;
      } catch (error) {
        throw reasonOf(error) === "decrypt" ? keyMismatch(to, { cause: error }) : error;
      }
    });
  }

  /** Sends `message` to the peer at `to`, who does not answer. Errors: `deadline_exceeded`, those of the network. */
  async tell(to: GossipAddress, message: StreamMessage, signal: AbortSignal): Promise<void> {
    await this.#dial(to, signal, (stream, deadline) => this.#write(stream, message, true, deadline));
  }

  /** Reads the message of a peer's stream and hands it to `answer`. Never rejects. */
  async serve(
    stream: GossipStream,
    signal: AbortSignal,
    answer: (message: StreamMessage, reply: Reply, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, this.#options.streamTimeoutMs, signal);
    let heldBytes = 0;
    const hold = (sizeBytes: number) => {
      heldBytes += sizeBytes;
      this.#inboundBytes += sizeBytes;
      if (this.#inboundBytes > maxInboundBytes) throw protocolError("peers send too much at one time", { reason: "busy" });
    };
    const reader = new StreamReader(this.#options.envelope, false, hold);
    const reply: Reply = (message) => this.#write(stream, message, false, deadline.signal);
    try {
      const message = await receive(stream, reader, deadline.signal);
      await answer(message, reply, deadline.signal);
    } catch (error) {
      await this.#refuse(error, stream, reader, reply).catch(() => {});
    } finally {
      this.#inboundBytes -= heldBytes;
      stream.close();
    }
  }

  /** The peer learns why its frame could not be read; what it sends inside of one is its own affair. */
  async #refuse(error: unknown, stream: GossipStream, reader: StreamReader, reply: Reply): Promise<void> {
    if (!CodedError.is(error, "protocol_error")) return;
    const reason = reasonOf(error) ?? "malformed";
    this.#deps.metrics.dropped.add(1, { reason });
    if (reason === "decrypt") {
      const fields = { from: formatAddress(stream.remote), error: error.message };
      this.#deps.warnings.warn("key mismatch: a peer's stream is not encrypted with a key of this member", fields);
    }
    if (reader.isInFrame && !unansweredReasons.has(reason)) await reply({ type: "error", error: error.message });
  }

  /** A peer answers so where it cannot open what it got. It was well-formed, so where keys are set they differ. */
  #peerError(text: string, to: GossipAddress): CodedError {
    if (this.#options.envelope.keys.length > 0) return keyMismatch(to, {}, { peerError: text });
    return new CodedError("protocol_error", "a peer could not read what it was sent", { ...to, peerError: text });
  }

  async #dial<T>(to: GossipAddress, signal: AbortSignal, use: (stream: GossipStream, signal: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = startDeadline(this.#deps.clock, this.#options.streamTimeoutMs, signal);
    const stream = await this.#deps.transport.dial(to, deadline.signal);
    try {
      return await use(stream, deadline.signal);
    } finally {
      stream.close();
    }
  }

  #write(stream: GossipStream, message: StreamMessage, dialled: boolean, signal: AbortSignal): Promise<void> {
    const { envelope, compress } = this.#options;
    return stream.write(sealStream(message, { ...envelope, compress, dialled }, this.#deps.random), signal);
  }
}

async function receive(stream: GossipStream, reader: StreamReader, signal: AbortSignal): Promise<StreamMessage> {
  for (;;) {
    const chunk = await stream.read(signal);
    if (!chunk) throw protocolError("a stream ended early", { reason: "ended" });
    const message = reader.push(chunk);
    if (message) return message;
  }
}

function reasonOf(error: unknown): string | undefined {
  return CodedError.is(error, "protocol_error") ? (error.fields["reason"] as string | undefined) : undefined;
}

function keyMismatch(to: GossipAddress, options: ErrorOptions, fields: { peerError?: string } = {}): CodedError {
  const message = "key mismatch: the peer at this address does not share this member's encryption key";
  return new CodedError("cluster_mismatch", message, { ...to, reason: "key", ...fields }, options);
}
