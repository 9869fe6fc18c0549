import { CodedError, linkSignals, neverAborted } from "../base/index.ts";
import { checkPort, type GossipAddress } from "./address.ts";
import { codecLimits } from "./codec/limits.ts";
import type { SendOptions } from "./member.ts";
import type { NodeRecord } from "./node-record.ts";
import type { PacketIo } from "./packet-io.ts";
import type { PushPull } from "./push-pull.ts";
import type { Transport } from "./transport.ts";

export interface DirectMessagesDeps {
  readonly node: (name: string) => NodeRecord | undefined;
  readonly transport: Transport;
  readonly io: PacketIo;
  readonly pushPull: PushPull;
  /** Ends with the member. */
  readonly life: AbortSignal;
}

/** Sends user messages to single members. */
export class DirectMessages {
  readonly #deps: DirectMessagesDeps;

  constructor(deps: DirectMessagesDeps) {
    this.#deps = deps;
  }

  /** Errors: see {@link Member.send}. */
  async send(to: string | GossipAddress, payload: Uint8Array, { reliable, signal = neverAborted }: SendOptions): Promise<void> {
    const { io, life, node, pushPull, transport } = this.#deps;
    life.throwIfAborted();
    const known = typeof to === "string" ? node(to) : undefined;
    if (typeof to === "string" && !known) throw new CodedError("not_found", "no gossip member has this name", { name: to });
    using linked = linkSignals(signal, life);
    const address = known ?? (to as GossipAddress);
    checkPort(address);
    const { host: name, port } = address;
    const [host = name] = await transport.resolve(name, linked.signal);
    if (!reliable) return io.sendUser({ host, port }, payload, known?.versions);
    const limitBytes = codecLimits.streamBytes;
    if (payload.length <= limitBytes) return await pushPull.sendUser({ host, port }, payload, linked.signal);
    throw new CodedError("limit_exceeded", "a user message is longer than 20 MiB", { sizeBytes: payload.length, limitBytes });
  }
}
