import { type ByteString, CodedError } from "../base/index.ts";
import type { RefView, RepositoryView } from "./repository-view.ts";

const maxBytes = 4096;
const suffixPattern = /(?:\^[0-9]{0,6}|~[0-9]{0,6}|\^\{(?:commit|tree|blob|tag|object)?\})+$/;

/** Where git looks for a short name, in this order. */
const places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] as const;

/** Refuses what could be taken for an option, or is no single revision. Errors: `invalid_argument`. */
export function checkRevision(revision: ByteString): void {
  const problem = problemWith(revision);
  if (problem) throw new CodedError("invalid_argument", problem, { revision: revision.slice(0, 200) });
}

function problemWith(revision: ByteString): string | undefined {
  if (revision === "") return "empty revision";
  if (revision.startsWith("-")) return "revision can't start with '-'";
  if (/[ \t\n\v\f\r]/.test(revision)) return "revision can't contain whitespace";
  if (revision.includes("\0")) return "revision can't contain NUL";
  if (revision.includes(":")) return "revision can't contain ':'";
  if (revision.includes("\\")) return "revision can't contain '\\'";
  if (revision.length > maxBytes) return "revision is too long";
  return undefined;
}

/**
 * Turns a revision into an object id, whole or abbreviated, and its suffixes, ready for `cat-file`; undefined where nothing has that name.
 * Only the view's refs count. Errors: `invalid_argument`.
 */
export function resolveRevision(view: RepositoryView, revision: ByteString): string | undefined {
  checkRevision(revision);
  const suffix = suffixPattern.exec(revision)?.[0] ?? "";
  const base = revision.slice(0, revision.length - suffix.length);
  const oid = resolveBase(view, base);
  return oid === undefined ? undefined : `${oid}${suffix}`;
}

function resolveBase(view: RepositoryView, base: ByteString): string | undefined {
  const fullOid = view.objectFormat === "sha1" ? /^[0-9a-f]{40}$/i : /^[0-9a-f]{64}$/i;
  // A whole object id is never a name, whatever refs there are.
  if (fullOid.test(base)) return base.toLowerCase();
  if (base === "HEAD" || base === "@") return view.refs.get(view.head)?.oid;
  const ref = findRef(view.refs, base);
  if (ref !== undefined) return ref;
  const abbreviated = view.objectFormat === "sha1" ? /^[0-9a-f]{4,39}$/i : /^[0-9a-f]{4,63}$/i;
  return abbreviated.test(base) ? base.toLowerCase() : undefined;
}

function findRef(refs: RefView, name: ByteString): string | undefined {
  for (const place of places) {
    const found = refs.get(place + name);
    if (found) return found.oid;
  }
  return refs.get(`refs/remotes/${name}/HEAD`)?.oid;
}
