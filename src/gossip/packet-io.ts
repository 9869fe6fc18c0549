import { type Clock, CodedError, type Random } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { formatAddress, type GossipAddress } from "./address.ts";
import type { BroadcastQueue } from "./broadcast-queue.ts";
import { compoundOverheadBytes, compoundPartOverheadBytes, makeCompounds } from "./codec/compound.ts";
import { type Envelope, packetOverheadBytes } from "./codec/envelope.ts";
import type { PacketMessage } from "./codec/message.ts";
import { openPacket, sealPacket } from "./codec/packet.ts";
import { encodePacketMessage } from "./codec/packet-message.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import { LimitedWarnings } from "./limited-warnings.ts";
import type { Transport } from "./transport.ts";
import { withPort } from "./wire-checks.ts";

export interface PacketIoOptions {
  readonly envelope: Envelope;
  readonly compress: boolean;
  readonly packetBytes: number;
  readonly protocolVersion: number;
}

export interface PacketIoDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly transport: Transport;
  readonly random: Random;
  readonly queue: BroadcastQueue;
  readonly metrics: GossipMetrics;
  /** Known nodes, for the number of retransmissions. */
  readonly clusterSize: () => number;
}

/** Protocol version from which a peer understands checksums. */
const crcVersion = 5;

/** Puts messages into datagrams, fills them up with gossip, and takes datagrams apart. */
export class PacketIo {
  readonly #options: PacketIoOptions;
  readonly #deps: PacketIoDeps;
  readonly #warnings: LimitedWarnings;

  constructor(options: PacketIoOptions, deps: PacketIoDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#warnings = new LimitedWarnings(deps);
  }

  /**
   * Sends `messages` in one datagram, with as much waiting gossip as fits. What rides along is a gift: only a datagram of
   * a round of gossip is `counted`, since rounds reach one member after the other and nobody twice.
   * `versions`: the receiver's, where known.
   */
  send(to: GossipAddress, messages: readonly PacketMessage[], versions?: Uint8Array, counted = false): void {
    const encoded: Uint8Array[] = messages.map(encodePacketMessage);
    if (this.#deps.queue.size > 0) {
      const used = encoded.reduce((sum, message) => sum + message.length + compoundPartOverheadBytes, 0);
      encoded.push(...this.#deps.queue.take(this.#budgetBytes() - used, this.#deps.clusterSize(), counted));
    }
    if (encoded.length === 0) return;
    const layers = { compress: this.#options.compress, crc: (versions?.[1] ?? 0) >= crcVersion && !isPlain(messages) };
    for (const message of makeCompounds(encoded)) {
      const packet = sealPacket(message, this.#options.envelope, layers, this.#deps.random);
      this.#count("out", packet);
      this.#deps.transport.sendPacket(packet, to);
    }
  }

  /** Sends a user message in one datagram. Errors: `limit_exceeded` where it does not fit. */
  sendUser(to: GossipAddress, payload: Uint8Array, versions?: Uint8Array): void {
    const limitBytes = this.#budgetBytes() - compoundPartOverheadBytes - 1;
    if (payload.length > limitBytes) {
      throw new CodedError("limit_exceeded", "a user message is longer than a datagram", { sizeBytes: payload.length, limitBytes });
    }
    this.send(to, [{ type: "user", payload }], versions);
  }

  /** The messages of a datagram; what is wrong with it is counted. */
  open(bytes: Uint8Array, from: GossipAddress): readonly PacketMessage[] {
    this.#count("in", bytes);
    try {
      const { messages, problems } = openPacket(bytes, this.#options.envelope);
      if (problems.length > 0) this.#deps.metrics.dropped.add(problems.length, { reason: "malformed" });
      return messages.map((message) => this.#withPort(message));
    } catch (error) {
      if (!CodedError.is(error, "protocol_error")) throw error;
      const reason = (error.fields["reason"] as string | undefined) ?? "malformed";
      this.#deps.metrics.dropped.add(1, { reason });
      if (reason === "decrypt") {
        const fields = { from: formatAddress(from), error: error.message };
        this.#warnings.warn("key mismatch: a peer's packet is not encrypted with a key of this member", fields);
      }
      return [];
    }
  }

  #withPort(message: PacketMessage): PacketMessage {
    if (message.type !== "alive" && message.type !== "indirectPing") return message;
    return withPort(message, this.#deps.transport.address.port, this.#options.protocolVersion);
  }

  /** What messages with their lengths may take of a datagram. The keys may change, and with them what encryption takes. */
  #budgetBytes(): number {
    return this.#options.packetBytes - packetOverheadBytes(this.#options.envelope) - compoundOverheadBytes;
  }

  #count(direction: "in" | "out", packet: Uint8Array): void {
    this.#deps.metrics.packets.add(1, { direction });
    this.#deps.metrics.packetBytes.add(packet.length, { direction });
  }
}

/** A question or an answer alone: most packets are, and peers send them without a checksum, which UDP has anyway. */
function isPlain([first, second]: readonly PacketMessage[]): boolean {
  if (first === undefined || second !== undefined) return false;
  return first.type === "ping" || first.type === "indirectPing" || first.type === "ack" || first.type === "nack";
}
