import { type Clock, CodedError, type Random, shuffle, startDeadline } from "../base/index.ts";
import { bytesToIp, compareAddresses, formatAddress, type GossipAddress } from "./address.ts";
import type { AliveMessage, PushNodeState } from "./codec/message.ts";
import type { PushPull } from "./push-pull.ts";
import type { Transport } from "./transport.ts";

export interface JoinerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly pushPull: PushPull;
  readonly own: () => AliveMessage;
  /** The name's earlier life, with this incarnation, is gone. */
  readonly succeed: (incarnation: number) => void;
}

/** Addresses of one name that are tried: a name may stand for a whole cluster. */
const maxAddressesPerName = 8;
const maxConcurrent = 4;
/** How long the earlier holder of this name has to answer. */
const holderTimeoutMs = 2000;

/** Brings this node into a cluster through any of several addresses. */
export class Joiner {
  readonly #deps: JoinerDeps;

  constructor(deps: JoinerDeps) {
    this.#deps = deps;
  }

  /** How many peers answered. Errors: see {@link Member.join}. */
  async join(addresses: readonly GossipAddress[], signal: AbortSignal): Promise<number> {
    const errors: unknown[] = [];
    const targets = await this.#targets(addresses, errors, signal);
    let joined = 0;
    const next = async (): Promise<void> => {
      for (let to = targets.shift(); to; to = targets.shift()) {
        try {
          await this.#joinOne(to, signal);
          joined++;
        } catch (error) {
          signal.throwIfAborted();
          errors.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: maxConcurrent }, next));
    const fatal = errors.find((error) => CodedError.is(error, "failed_precondition"));
    if (fatal) throw fatal;
    if (joined > 0 || errors.length === 0) return joined;
    throw (
      errors.find((error) => CodedError.is(error, "cluster_mismatch")) ??
      new CodedError("node_unavailable", "no peer answered", { addresses: addresses.map(formatAddress) }, { cause: errors[0] })
    );
  }

  async #targets(addresses: readonly GossipAddress[], errors: unknown[], signal: AbortSignal): Promise<GossipAddress[]> {
    const { transport, random, own } = this.#deps;
    const targets = new Map<string, GossipAddress>();
    for (const { host, port } of addresses) {
      try {
        const hosts = shuffle(random, [...(await transport.resolve(host, signal))]);
        for (const each of hosts.slice(0, maxAddressesPerName)) targets.set(formatAddress({ host: each, port }), { host: each, port });
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
      }
    }
    targets.delete(formatAddress({ host: bytesToIp(own().address) ?? "", port: own().port }));
    return [...targets.values()];
  }

  async #joinOne(to: GossipAddress, signal: AbortSignal): Promise<void> {
    // First only asks: a node that must not join leaves no trace.
    const reply = await this.#deps.pushPull.preview(to, signal);
    const holder = reply.nodes.find((node) => node.name === this.#deps.own().node);
    if (holder && compareAddresses(holder, this.#deps.own()) !== 0) await this.#succeed(holder, signal);
    await this.#deps.pushPull.synchronize(to, true, signal);
  }

  /** The name is in use, or was, at another address: takes it over only from a node that does not answer. */
  async #succeed(holder: PushNodeState, signal: AbortSignal): Promise<void> {
    const { clock, own, pushPull, succeed } = this.#deps;
    const { name, port, incarnation, state } = holder;
    const host = bytesToIp(holder.address);
    if (host !== undefined && (state === "alive" || state === "suspect")) {
      using deadline = startDeadline(clock, holderTimeoutMs, signal);
      if ((await pushPull.ping(name, { host, port }, deadline.signal)) === "answered") {
        const address = formatAddress({ host: bytesToIp(own().address) ?? "", port: own().port });
        throw new CodedError("failed_precondition", "another live node uses this name", {
          name,
          address,
          otherAddress: formatAddress({ host, port }),
        });
      }
      signal.throwIfAborted();
    }
    if (incarnation >= own().incarnation) succeed(incarnation);
  }
}
