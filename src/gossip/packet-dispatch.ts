import type { Acks } from "./acks.ts";
import { bytesToIp, type GossipAddress } from "./address.ts";
import type { PacketMessage, Source } from "./codec/message.ts";
import type { EventHub } from "./event-hub.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { HookCalls } from "./hook-calls.ts";
import type { PacketIo } from "./packet-io.ts";
import type { ProbeHelper } from "./probe-helper.ts";
import type { Claim } from "./state-event.ts";

export interface PacketDispatchDeps {
  readonly name: string;
  readonly io: PacketIo;
  readonly acks: Acks;
  readonly helper: ProbeHelper;
  readonly hooks: HookCalls;
  readonly events: EventHub;
  readonly metrics: GossipMetrics;
  /** False: nothing is taken from this IP address, and nothing sent there. */
  readonly isAllowed: (host: string) => boolean;
  readonly onClaim: (claim: Claim) => void;
  /** A node at this address probes this member. */
  readonly onProbed: (by: Source) => void;
}

/** Pings that are answered of one datagram. Peers put one into each; a thousand would cost as many answers, each full of gossip. */
const maxQuestions = 8;

/** Hands what datagrams hold to the parts that it concerns, and answers pings. */
export class PacketDispatch {
  readonly #deps: PacketDispatchDeps;

  constructor(deps: PacketDispatchDeps) {
    this.#deps = deps;
  }

  /** Takes one datagram that came from `from`. */
  receive(bytes: Uint8Array, from: GossipAddress) {
    const { io, isAllowed } = this.#deps;
    if (!isAllowed(from.host)) return this.#drop("network");
    const messages = io.open(bytes, from);
    const [first] = messages;
    // Its sender takes this address for that of another node, so the rest may be news of another cluster.
    if (first?.type === "ping" && !this.#isMeant(first.node)) return this.#drop("wrong_node");
    let questions = 0;
    for (const message of messages) {
      if ((message.type === "ping" || message.type === "indirectPing") && ++questions > maxQuestions) this.#drop("busy");
      else this.#dispatch(message, from);
    }
  }

  #dispatch(message: PacketMessage, from: GossipAddress) {
    const { acks, events, helper, onClaim } = this.#deps;
    switch (message.type) {
      case "ping":
        if (!this.#isMeant(message.node)) return this.#drop("wrong_node");
        return this.#answer(message.seqNo, message.source, from);
      case "indirectPing": {
        const asker = replyAddress(message.source, from);
        const isAllowed = this.#deps.isAllowed(asker.host) && this.#deps.isAllowed(bytesToIp(message.target) ?? "");
        return isAllowed ? helper.serve(message, asker) : this.#drop("network");
      }
      case "ack":
        return acks.ack(message.seqNo, message.payload);
      case "nack":
        return acks.nack(message.seqNo, message.refused);
      case "user":
        return events.emit({ type: "message", payload: message.payload });
      default:
        return onClaim(message);
    }
  }

  #answer(seqNo: number, source: Source, from: GossipAddress) {
    const { hooks, io, isAllowed, onProbed } = this.#deps;
    const to = replyAddress(source, from);
    if (!isAllowed(to.host)) return this.#drop("network");
    onProbed(source);
    io.send(to, [{ type: "ack", seqNo, payload: hooks.ackPayload() }]);
  }

  #isMeant(node: string): boolean {
    return node === "" || node === this.#deps.name;
  }

  #drop(reason: "busy" | "network" | "wrong_node"): void {
    this.#deps.metrics.dropped.add(1, { reason });
  }
}

/** Where an answer goes: the address that the sender advertises, which may differ from where the packet came from. */
function replyAddress(source: Source, from: GossipAddress): GossipAddress {
  const host = bytesToIp(source.address);
  return host === undefined || source.port === 0 ? from : { host, port: source.port };
}
