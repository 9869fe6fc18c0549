import type { MemberRecord } from "./member-event.ts";

/** What is known of one node. Replaced, never changed. */
export interface NodeRecord extends MemberRecord {
  readonly address: Uint8Array;
  readonly versions: Uint8Array;
  /** Monotonic time of the last change of its state. */
  readonly changedAtMs: number;
}
