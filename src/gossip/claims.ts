import { sameBytes } from "../base/index.ts";
import { compareAddresses } from "./address.ts";
import type { AliveMessage, PushNodeState } from "./codec/message.ts";

type Claimed = Pick<AliveMessage, "meta" | "versions">;
type Placed = { readonly incarnation: number; readonly address: Uint8Array; readonly port: number };

/** Whether `a` keeps a name that `b` claims as well: by the higher incarnation, then by the lower address. */
export function beats(a: Placed, b: Placed): boolean {
  return a.incarnation > b.incarnation || (a.incarnation === b.incarnation && compareAddresses(a, b) < 0);
}

/** Whether two claims of one incarnation say the same. */
export function sameClaim(a: Claimed, b: Claimed): boolean {
  return sameBytes(a.meta, b.meta) && sameBytes(a.versions, b.versions);
}

/** Whether `known` lives and says of the node what `received` says, or something newer. */
export function isOldNews(received: Placed & Claimed, known: Omit<PushNodeState, "name">): boolean {
  if (known.state !== "alive" || received.incarnation > known.incarnation || compareAddresses(received, known) !== 0) return false;
  return received.incarnation < known.incarnation || sameClaim(received, known);
}

/** What is new in a claim about a member that was alive or a suspect; undefined for its incarnation alone. */
export function updateReason(message: AliveMessage, known: Omit<PushNodeState, "name">): "address" | "meta" | "refuted" | undefined {
  if (compareAddresses(message, known) !== 0) return "address";
  if (!sameBytes(message.meta, known.meta)) return "meta";
  return known.state === "suspect" ? "refuted" : undefined;
}

/** What a node said when it was recorded so. */
export function aliveOf(record: Omit<PushNodeState, "state">): AliveMessage {
  const { name, incarnation, address, port, meta, versions } = record;
  return { type: "alive", node: name, incarnation, address, port, meta, versions };
}
