import { compareAddresses } from "./address.ts";
import type { AliveMessage, PushNodeState } from "./codec/message.ts";

type Placed = { readonly incarnation: number; readonly address: Uint8Array; readonly port: number };

/** Whether `a` keeps a name that `b` claims as well: by the higher incarnation, then by the lower address. */
export function beats(a: Placed, b: Placed): boolean {
  return a.incarnation > b.incarnation || (a.incarnation === b.incarnation && compareAddresses(a, b) < 0);
}

/** Whether two claims of one incarnation say the same. */
export function sameClaim(a: AliveMessage, b: AliveMessage): boolean {
  return Buffer.from(a.meta).equals(b.meta) && Buffer.from(a.versions).equals(b.versions);
}

/** What a node said when it was recorded so. */
export function aliveOf(record: Omit<PushNodeState, "state">): AliveMessage {
  const { name, incarnation, address, port, meta, versions } = record;
  return { type: "alive", node: name, incarnation, address, port, meta, versions };
}
