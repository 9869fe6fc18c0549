import { type ByteString, CodedError } from "../../base/index.ts";
import type { RefValue } from "../../git/index.ts";
import type { ListRefsRequest__Output } from "../../proto/gen/gitaly/ListRefsRequest.ts";
import type { ListRefsResponse, _gitaly_ListRefsResponse_Reference as Reference } from "../../proto/gen/gitaly/ListRefsResponse.ts";
import type { PaginationParameter__Output } from "../../proto/gen/gitaly/PaginationParameter.ts";
import { type CallContext, targetPath } from "../../rpc/index.ts";
import { chunked } from "../chunked.ts";
import { DamageControl } from "../damage-control.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { pageToken, pageTokenName } from "./page-token.ts";
import { compileRefPattern, type RefPattern } from "./ref-pattern.ts";
import { selectRefs } from "./select-refs.ts";
import { sortRefs } from "./sort-refs.ts";

const maxPatterns = 4096;
const maxGlobs = 64;
const maxPatternBytes = 1024;
const maxPointingAtOids = 4096;
/** More than the tags and lengths of one reference take on the wire. */
const referenceOverheadBytes = 32;

/** ListRefs: the refs of one generation that match any pattern, in messages below 1 MiB. HEAD, where asked for and born, comes first. */
export function listRefs(deps: Pick<ServicesDeps, "cache" | "git" | "storageName" | "clock" | "logger">) {
  const damage = new DamageControl(deps);
  return async function* (request: ListRefsRequest__Output, call: CallContext): AsyncGenerator<ListRefsResponse> {
    const path = targetPath(request.repository, deps.storageName);
    const patterns = checkPatterns(request.patterns);
    await using lease = await deps.cache.acquire(path, call.signal);
    const pointingAt = checkOids(request.pointingAtOids, lease.objectFormat === "sha1" ? 40 : 64);
    const pointsThere = ({ oid, peeled }: RefValue) => pointingAt.has(oid) || (peeled !== undefined && pointingAt.has(peeled));
    const selected = await selectRefs(lease.refs, patterns, deps.clock, call.signal);
    const matching = pointingAt.size === 0 ? selected : selected.filter(pointsThere);
    const sorted = await damage.retrying(lease, call.signal, () =>
      sortRefs(matching, request.sortBy, { git: deps.git, view: lease }, call.signal),
    );
    const head = request.head ? lease.refs.get(lease.head) : undefined;
    const listed = head ? [{ ...head, name: "HEAD" }, ...sorted] : sorted;
    const byName = !request.sortBy || request.sortBy.key === "REFNAME";
    const order = byName ? (request.sortBy?.direction ?? "ASCENDING") : undefined;
    const { page, nextCursor } = cutPage(listed, request.paginationParams, order);

    let remaining = page.length;
    const toReference = (ref: RefValue) => referenceOf(ref, request.peelTags);
    for (const references of chunked(page.map(toReference), sizeOf)) {
      remaining -= references.length;
      yield { references, ...(remaining === 0 && nextCursor !== "" ? { paginationCursor: { nextCursor } } : {}) };
      call.signal.throwIfAborted();
    }
  };
}

function checkPatterns(patterns: readonly Buffer[]): RefPattern[] {
  if (patterns.length === 0) throw new CodedError("invalid_argument", "patterns must have at least one entry");
  if (patterns.length > maxPatterns) throw new CodedError("invalid_argument", "too many patterns", { limit: maxPatterns });
  if (patterns.some((pattern) => pattern.length > maxPatternBytes)) {
    throw new CodedError("invalid_argument", "a pattern is too long", { limitBytes: maxPatternBytes });
  }
  if (patterns.some((pattern) => pattern.length === 0)) throw new CodedError("invalid_argument", "a pattern is empty");
  const unique = [...new Set(patterns.map((pattern) => pattern.toString("latin1")))];
  if (unique.filter((pattern) => /[*?[\\]/.test(pattern)).length > maxGlobs) {
    throw new CodedError("invalid_argument", "too many patterns are globs", { limit: maxGlobs });
  }
  return unique.map(compileRefPattern);
}

function checkOids(oids: readonly Buffer[], hexLength: number): ReadonlySet<string> {
  if (oids.length > maxPointingAtOids) {
    throw new CodedError("invalid_argument", "too many entries in pointing_at_oids", { limit: maxPointingAtOids });
  }
  const checked = oids.map((oid) => oid.toString("latin1").toLowerCase());
  if (checked.some((oid) => oid.length !== hexLength || !/^[0-9a-f]+$/.test(oid))) {
    throw new CodedError("invalid_argument", "pointing_at_oids must be full object ids");
  }
  return new Set(checked);
}

function cutPage(
  refs: readonly RefValue[],
  pagination: PaginationParameter__Output | null,
  order: "ASCENDING" | "DESCENDING" | undefined,
): { page: readonly RefValue[]; nextCursor: string } {
  if (!pagination) return { page: refs, nextCursor: "" };
  const start = pagination.pageToken === "" ? 0 : startAfter(refs, pageTokenName(pagination.pageToken), order);
  const end = pagination.limit > 0 ? Math.min(start + pagination.limit, refs.length) : refs.length;
  const last = refs[end - 1];
  return { page: refs.slice(start, end), nextCursor: end < refs.length && last ? pageToken(last.name) : "" };
}

function startAfter(refs: readonly RefValue[], name: ByteString, order: "ASCENDING" | "DESCENDING" | undefined): number {
  const found = refs.findIndex((ref) => ref.name === name);
  if (found >= 0) return found + 1;
  if (!order) throw new CodedError("invalid_argument", "page_token names no ref of this listing");
  // A page may go on although its last ref was deleted meanwhile: the order of names says where.
  const next = refs.findIndex((ref) => ref.name !== "HEAD" && (order === "ASCENDING" ? ref.name > name : ref.name < name));
  return next === -1 ? refs.length : next;
}

function referenceOf({ name, oid, peeled }: RefValue, peelTags: boolean): Reference & { name: Buffer } {
  return { name: Buffer.from(name, "latin1"), target: oid, ...(peelTags && peeled !== undefined ? { peeledTarget: peeled } : {}) };
}

function sizeOf(reference: Reference & { name: Buffer }): number {
  return reference.name.length + (reference.target?.length ?? 0) + (reference.peeledTarget?.length ?? 0) + referenceOverheadBytes;
}
