import type { MemberRecord } from "./member-event.ts";

/** A direct answer to a probe by datagram. */
export interface DirectAck {
  readonly member: MemberRecord;
  /** From sending the ping to reading its answer. */
  readonly roundTripMs: number;
  /** What the peer's {@link MemberHooks.ackPayload} gave; empty for none. */
  readonly payload: Uint8Array;
}

/**
 * What an application adds to the protocol, each part if it wants to. All are called synchronously and must be quick; one that
 * throws harms nobody else, and counts as absent for that time.
 */
export interface MemberHooks {
  /** At most 512 bytes that go with each answer to a ping by datagram, for example network coordinates. */
  ackPayload?(): Uint8Array;
  /** A member answered a probe of this one by datagram, without help of others. */
  onAck?(ack: DirectAck): void;
  /** What goes to the peer with a full exchange of state, at most 16 MiB: of more none is sent, with a warning. `join`: one of the two joins through the other. */
  userState?(join: boolean): Uint8Array;
  /** What the peer's {@link MemberHooks.userState} gave. Called for peers of the own cluster only. */
  mergeUserState?(bytes: Uint8Array, join: boolean): void;
}
