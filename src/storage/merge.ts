import type { ByteString } from "../base/index.ts";
import type { ObjectFormat } from "./generation.ts";
import { oidLength, zeroOid } from "./packed-refs.ts";
import { isRefName } from "./ref-name.ts";
import { RefOverlay } from "./ref-overlay.ts";
import type { RefTable } from "./ref-table.ts";
import type { RefResult, RefUpdate } from "./repository-storage.ts";

/** What a push wants, as far as the merge is concerned. */
export interface PushToMerge {
  readonly updates: readonly RefUpdate[];
  readonly atomic: boolean;
  /** Refs whose new value is not connected on this base. */
  readonly disconnected: ReadonlySet<ByteString>;
}

interface MergedPush {
  /** In the order of the updates. */
  readonly results: readonly RefResult[];
  /** True where the push changes a ref, so that its packs are needed. */
  readonly changes: boolean;
}

export interface MergedGroup {
  readonly pushes: readonly MergedPush[];
  /** What all pushes together change in the table. */
  readonly changes: readonly RefUpdate[];
  /** Every update of every push was applied as asked: no refusal, nothing that was already so. */
  readonly clean: boolean;
}

/** Brings pushes, one after the other, onto a table of refs. Pure. */
export function mergeGroup(table: RefTable, format: ObjectFormat, pushes: readonly PushToMerge[]): MergedGroup {
  const overlay = new RefOverlay(table, zeroOid(format));
  let clean = true;
  const merged = pushes.map((push) => {
    const { results, applied } = mergePush(overlay, format, push);
    if (applied < push.updates.length) clean = false;
    return { results, changes: applied > 0 };
  });
  return { pushes: merged, changes: overlay.changes(), clean };
}

function mergePush(overlay: RefOverlay, format: ObjectFormat, push: PushToMerge): { results: RefResult[]; applied: number } {
  const zero = zeroOid(format);
  const named = new Map<ByteString, number>();
  for (const { ref } of push.updates) named.set(ref, (named.get(ref) ?? 0) + 1);
  const reasons = new Map<RefUpdate, string>();
  const undo: (() => void)[] = [];
  const consider = (update: RefUpdate) => {
    const reason =
      (named.get(update.ref) ?? 0) > 1 ? "multiple updates for this ref in one push" : refusal(overlay, format, update, push.disconnected);
    if (reason !== undefined) reasons.set(update, reason);
    else if (overlay.oid(update.ref) !== update.newOid) undo.push(overlay.set(update));
  };
  // Deletes make room for what the same push creates.
  for (const update of push.updates) if (update.newOid === zero) consider(update);
  for (const update of push.updates) if (update.newOid !== zero) consider(update);
  if (push.atomic && reasons.size > 0) {
    for (const revert of undo.splice(0).reverse()) revert();
    for (const update of push.updates) if (!reasons.has(update)) reasons.set(update, "atomic push failure");
  }
  const results = push.updates.map((update): RefResult => {
    const reason = reasons.get(update);
    return reason === undefined ? { ref: update.ref, status: "ok" } : { ref: update.ref, status: "rejected", reason };
  });
  return { results, applied: undo.length };
}

/** Why an update cannot be made; undefined where it can, or where it is so already. */
function refusal(overlay: RefOverlay, format: ObjectFormat, update: RefUpdate, disconnected: ReadonlySet<ByteString>): string | undefined {
  const { ref, oldOid, newOid, peeledOid } = update;
  const zero = zeroOid(format);
  const isOid = (oid: string) => oid.length === oidLength(format) && /^[0-9a-f]+$/.test(oid);
  if (!isOid(oldOid) || !isOid(newOid) || (peeledOid !== undefined && !isOid(peeledOid))) return "malformed object id";
  if (newOid !== zero && !isRefName(ref)) return "funny refname";
  const current = overlay.oid(ref);
  if (current === newOid) return undefined;
  if (current !== oldOid) {
    if (oldOid === zero) return "failed to update ref: reference already exists; fetch first";
    if (current === zero) return `failed to update ref: expected ${oldOid} but it does not exist; fetch first`;
    return `failed to update ref: expected ${oldOid} but is at ${current}; fetch first`;
  }
  if (newOid === zero) return undefined;
  const conflict = current === zero ? overlay.conflictWith(ref) : undefined;
  if (conflict !== undefined) return `directory/file conflict with ${conflict}`;
  return disconnected.has(ref) ? "missing necessary objects" : undefined;
}
