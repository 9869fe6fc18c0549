import type { ByteString } from "../base/index.ts";
import type { PushRequest, RefChange } from "./push-request.ts";
import { isRefName } from "./ref-name.ts";
import type { RepositoryView } from "./repository-view.ts";

/** One command of a push on its way; `refusal` is set by the first check that it fails. */
export interface PlannedChange extends RefChange {
  readonly isDelete: boolean;
  /** Nothing to do, and the client is told it worked. */
  readonly isNoop: boolean;
  refusal: string | undefined;
}

/** True for an object id of zeros, which stands for "no object". */
export function isZeroOid(oid: string): boolean {
  return /^0+$/.test(oid);
}

/** Everything about a push's commands that can be said before its objects are there. */
export function planPush(view: RepositoryView, request: PushRequest): PlannedChange[] {
  const seen = new Map<ByteString, number>();
  for (const { ref } of request.changes) seen.set(ref, (seen.get(ref) ?? 0) + 1);
  return request.changes.map((change) => {
    const isDelete = isZeroOid(change.newOid);
    let refusal: string | undefined;
    if (!isRefName(change.ref, isDelete)) refusal = "funny refname";
    else if ((seen.get(change.ref) ?? 0) > 1) refusal = "multiple updates for ref not allowed";
    else if (isDelete && change.ref === view.head && view.refs.get(change.ref)) refusal = "deletion of the current branch prohibited";
    const isNoop = refusal === undefined && isDelete && view.refs.get(change.ref) === undefined;
    return { ...change, isDelete, isNoop, refusal };
  });
}

/** With `atomic`, one refusal is everyone's. */
export function spreadRefusals(changes: readonly PlannedChange[], atomic: boolean): void {
  if (!atomic || changes.every((change) => change.refusal === undefined)) return;
  for (const change of changes) change.refusal ??= "atomic push failure";
}
