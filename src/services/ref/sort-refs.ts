import { CodedError } from "../../base/index.ts";
import type { Git, GitObject, RefValue, RepositoryView } from "../../git/index.ts";
import type { _gitaly_ListRefsRequest_SortBy__Output as SortBy } from "../../proto/gen/gitaly/ListRefsRequest.ts";
import { objectHeaders } from "../commit/object-headers.ts";
import { parsePerson } from "../commit/parse-person.ts";

/** Objects that one sort by date reads at most. */
const maxDatedObjects = 50_000;
const readsAtOnce = 8;

/** Orders `refs`, which come by name, as the request asks. Refs of equal date stay in the order of their names. */
export async function sortRefs(
  refs: readonly RefValue[],
  sortBy: SortBy | null,
  objects: { git: Git; view: RepositoryView },
  signal: AbortSignal,
): Promise<readonly RefValue[]> {
  const descending = sortBy?.direction === "DESCENDING";
  if (!sortBy || sortBy.key === "REFNAME") return descending ? refs.toReversed() : refs;
  const oids = [...new Set(refs.map((ref) => ref.oid))];
  if (oids.length > maxDatedObjects) {
    throw new CodedError("limit_exceeded", "too many refs to sort by date; narrow the patterns or sort by name", {
      limit: maxDatedObjects,
    });
  }
  const dates = new Map<string, number>();
  for (let at = 0; at < oids.length; at += readsAtOnce) {
    const reads = oids.slice(at, at + readsAtOnce).map(async (oid) => {
      const object = await objects.git.readObject(objects.view, oid, "any", signal);
      if (!object) throw new CodedError("corrupt", "git does not find an object that a ref names", { oid });
      dates.set(oid, dateOf(object, sortBy.key));
    });
    // All of them end before the lease behind `view` may go.
    for (const read of await Promise.allSettled(reads)) if (read.status === "rejected") throw read.reason;
  }
  const sign = descending ? -1 : 1;
  const date = (ref: RefValue) => dates.get(ref.oid) ?? 0;
  return refs.toSorted((a, b) => sign * (date(a) - date(b)));
}

/** Seconds since 1970; 0 where an object of this type has no such date. */
function dateOf(object: GitObject, key: SortBy["key"]): number {
  let header: string | undefined;
  if (object.type === "commit") header = key === "AUTHORDATE" ? "author" : "committer";
  else if (object.type === "tag" && key === "CREATORDATE") header = "tagger";
  if (!header) return 0;
  const line = objectHeaders(object.content).first(header);
  // A date that is none counts as 0 too.
  return (line !== undefined && parsePerson(line).seconds) || 0;
}
