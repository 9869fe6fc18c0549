import { CodedError, type Random } from "../base/index.ts";
import type { GossipAddress } from "./address.ts";
import type { BroadcastQueue } from "./broadcast-queue.ts";
import { compoundOverheadBytes, compoundPartOverheadBytes, makeCompounds } from "./codec/compound.ts";
import type { PacketMessage } from "./codec/message.ts";
import { type Envelope, openPacket, packetOverheadBytes, sealPacket } from "./codec/packet.ts";
import { encodePacketMessage } from "./codec/packet-message.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { Transport } from "./transport.ts";

export interface PacketIoOptions {
  readonly envelope: Envelope;
  readonly compress: boolean;
  readonly packetBytes: number;
}

export interface PacketIoDeps {
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
  readonly #budgetBytes: number;

  constructor(options: PacketIoOptions, deps: PacketIoDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#budgetBytes = options.packetBytes - packetOverheadBytes(options.envelope) - compoundOverheadBytes;
  }

  /** Sends `messages` in one datagram, with as much waiting gossip as fits. `versions`: the receiver's, where known. */
  send(to: GossipAddress, messages: readonly PacketMessage[], versions?: Uint8Array): void {
    const encoded: Uint8Array[] = messages.map(encodePacketMessage);
    const used = encoded.reduce((sum, message) => sum + message.length + compoundPartOverheadBytes, 0);
    encoded.push(...this.#deps.queue.take(this.#budgetBytes - used, this.#deps.clusterSize()));
    const { envelope, compress } = this.#options;
    const crc = (versions?.[1] ?? 0) >= crcVersion;
    for (const message of encoded.length === 0 ? [] : makeCompounds(encoded)) {
      const packet = sealPacket(message, { ...envelope, compress, crc }, this.#deps.random);
      this.#count("out", packet);
      this.#deps.transport.sendPacket(packet, to);
    }
  }

  /** The messages of a datagram; what is wrong with it is counted. */
  open(bytes: Uint8Array): readonly PacketMessage[] {
    this.#count("in", bytes);
    try {
      const { messages, problems } = openPacket(bytes, this.#options.envelope);
      if (problems.length > 0) this.#deps.metrics.dropped.add(problems.length, { reason: "malformed" });
      return messages;
    } catch (error) {
      if (!CodedError.is(error, "protocol_error")) throw error;
      this.#deps.metrics.dropped.add(1, { reason: (error.fields["reason"] as string | undefined) ?? "malformed" });
      return [];
    }
  }

  #count(direction: "in" | "out", packet: Uint8Array): void {
    this.#deps.metrics.packets.add(1, { direction });
    this.#deps.metrics.packetBytes.add(packet.length, { direction });
  }
}
