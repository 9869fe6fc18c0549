import { CodedError } from "../base/index.ts";
import type { RedirectError__Output } from "../proto/gen/gitaly_gossip/v1/RedirectError.ts";
import { type Address, parseAddress } from "./address.ts";

/** Where a call goes next. */
export interface Target {
  readonly address: Address;
  /** Redirects that led there, as the node is told. */
  readonly hops: number;
  /** Over a new connection. */
  readonly reconnect: boolean;
}

/** From this many hops on a node serves a call itself. */
const servedHops = 2;
const maxOwners = 32;

/** The way of one call through the cluster: whom to ask next, and when to give up. */
export class CallRoute {
  readonly #maxHops: number;
  readonly #start: readonly Address[];
  #queue: Target[];
  /** URLs asked, in order. */
  readonly #asked: string[] = [];
  readonly #failed = new Set<string>();
  /** Nodes that sent us on: they live, and any node can serve any repository. */
  readonly #redirectors: Address[] = [];
  #redirects = 0;
  #reconnected = false;
  #lastResort = false;
  #lastError: unknown;

  /** `owners` are asked before `addresses`. */
  constructor(maxHops: number, owners: readonly Address[], addresses: readonly Address[]) {
    this.#maxHops = maxHops;
    this.#start = addresses;
    const known = new Set(owners.map(({ url }) => url));
    this.#queue = targets([...owners, ...addresses.filter(({ url }) => !known.has(url))], 0);
  }

  /** URLs asked so far, in order. */
  get hops(): readonly string[] {
    return this.#asked;
  }

  /** Redirects followed so far. */
  get redirects(): number {
    return this.#redirects;
  }

  /** Errors: `redirect_exhausted`, `node_unavailable`. */
  next(): Target {
    let target = this.#queue.shift();
    if (!target && this.#redirects > 0 && !this.#lastResort) {
      this.#lastResort = true;
      const alive = [...new Set([...this.#redirectors.reverse(), ...this.#start])].filter(({ url }) => !this.#failed.has(url));
      this.#queue = targets(alive, servedHops);
      target = this.#queue.shift();
    }
    if (!target) throw this.#exhausted();
    this.#asked.push(target.address.url);
    return target;
  }

  /** The target cannot be reached, or did not start the call. */
  failed(target: Target, error: unknown): void {
    this.#failed.add(target.address.url);
    this.#lastError = error;
  }

  /**
   * The target names the owners; `node` is its own name. Errors: `redirect_exhausted`.
   *
   * @returns the addresses of the owners.
   */
  redirected(target: Target, node: string, redirect: RedirectError__Output): Address[] {
    const { address, hops } = target;
    const owners = redirect.owners.slice(0, maxOwners).flatMap((owner) => addressOf(owner.address));
    this.#redirects++;
    if (this.#redirects > this.#maxHops) throw this.#error("redirected too often");
    const toItself = redirect.owners.some((owner) => node !== "" && owner.node === node) || owners.some(({ url }) => url === address.url);
    if (toItself) {
      if (this.#reconnected) throw this.#error("a node redirects to itself");
      this.#reconnected = true;
      this.#queue = [{ address, hops: hops + 1, reconnect: true }];
      return [];
    }
    this.#redirectors.push(address);
    this.#queue = targets(
      owners.filter(({ url }) => !this.#failed.has(url)),
      hops + 1,
    );
    return owners;
  }

  #exhausted(): CodedError {
    // What a node said about itself is worth more than that there is no other.
    if (CodedError.is(this.#lastError) && "node" in this.#lastError.fields) return this.#lastError;
    if (this.#redirects > 0) return this.#error("no owner of the repository answers");
    return new CodedError("node_unavailable", "no node answers", { addresses: this.#asked }, { cause: this.#lastError });
  }

  #error(message: string): CodedError {
    return new CodedError("redirect_exhausted", message, { hops: this.#asked }, { cause: this.#lastError });
  }
}

function targets(addresses: readonly Address[], hops: number): Target[] {
  return addresses.map((address) => ({ address, hops, reconnect: false }));
}

/** An address that a node made up is no reason to fail: the next owner may be better. */
function addressOf(text: string): Address[] {
  try {
    return [parseAddress(text)];
  } catch {
    return [];
  }
}
