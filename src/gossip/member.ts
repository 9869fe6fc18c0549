import type { GossipAddress } from "./address.ts";
import type { MemberEvent, MemberRecord } from "./member-event.ts";

/** What a peer answers to a question. */
export interface PeerView {
  readonly members: readonly MemberRecord[];
  readonly userState: Uint8Array;
}

/** How a message for one member goes. */
export interface SendOptions {
  /** True: over a stream, up to 20 MiB. False: in one datagram, which may be lost. */
  readonly reliable: boolean;
  /** Default: only the stream timeout ends the waiting. */
  readonly signal?: AbortSignal;
}

/** This process as a member of a cluster. */
export interface Member extends AsyncDisposable {
  readonly name: string;
  /** What peers are told. */
  readonly address: GossipAddress;
  /**
   * Exchanges state with each address; names are resolved to all theirs. Returns how many peers answered; own addresses
   * are left out. The addresses are kept: what did not answer is tried again at a low rate. After {@link leave} this is a return.
   *
   * Errors, when none answered: `node_unavailable`, `cluster_mismatch`; in any case `failed_precondition` where another
   * live node uses this name, `invalid_argument` for a port that is none, `cancelled` once {@link close} has begun.
   */
  join(addresses: readonly GossipAddress[], signal: AbortSignal): Promise<number>;
  /** All known nodes sorted by name, this one included; the same array until something changes. */
  members(): readonly MemberRecord[];
  /** Changes what peers show for this member; nothing once it is closed. Errors: `limit_exceeded` above 512 bytes. */
  setMeta(meta: Uint8Array): void;
  /** Gossips a user message of at most 512 bytes; peers see it as a `message` event. Errors: `limit_exceeded`. */
  broadcast(payload: Uint8Array): void;
  /**
   * Sends a user message to one member, known by name or at an address; it sees a `message` event. Resolves when the message was
   * handed to the network: nothing says that it was read.
   *
   * Errors: `not_found` for an unknown name, `limit_exceeded`; when reliable `deadline_exceeded` and those of the network.
   */
  send(to: string | GossipAddress, payload: Uint8Array, options: SendOptions): Promise<void>;
  /**
   * Tells the others and waits until that is sent out. Never rejects: when the signal aborts it stops waiting. Probes are
   * answered until {@link close}, and {@link join} leads back.
   */
  leave(signal: AbortSignal): Promise<void>;
  /** Calls `listener` for each change until disposed. It is called synchronously and must be quick. */
  subscribe(listener: (event: MemberEvent) => void): Disposable;
  /** Asks the member at `address` for its view and takes nothing over. */
  queryMembers(address: GossipAddress, signal: AbortSignal): Promise<PeerView>;
  /** Leaves, within a bounded time, and closes everything. Idempotent. */
  close(): Promise<void>;
  /** Closes everything at once; to the others it looks like a crash. Idempotent. */
  destroy(): Promise<void>;
}
