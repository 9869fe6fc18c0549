import type { ByteString } from "../../base/index.ts";
import { compileGlob, literalPrefix } from "./glob.ts";

/** One compiled pattern of a ref listing. */
export interface RefPattern {
  /** Every ref that matches starts with this. */
  readonly prefix: ByteString;
  readonly isGlob: boolean;
  matches(name: ByteString): boolean;
}

/**
 * Compiles a pattern as `git for-each-ref` reads it: a full ref name, a leading part of one up to a slash, or a glob
 * whose `*`, `?` and `[]` stop at slashes while a `**` segment does not.
 */
export function compileRefPattern(pattern: ByteString): RefPattern {
  const asPath = (name: ByteString) =>
    name.startsWith(pattern) && (name.length === pattern.length || name[pattern.length] === "/" || pattern.endsWith("/"));
  const prefix = literalPrefix(pattern);
  if (prefix.length === pattern.length) return { prefix, isGlob: false, matches: asPath };
  const glob = compileGlob(pattern);
  return { prefix, isGlob: true, matches: (name) => asPath(name) || glob(name) };
}
