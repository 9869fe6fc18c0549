import type { ByteString } from "../../base/index.ts";
import type { RefValue, RefView } from "../../git/index.ts";
import type { RefPattern } from "./ref-pattern.ts";

/** The refs that any of `patterns` matches, each once, sorted by name byte by byte. */
export function selectRefs(refs: RefView, patterns: readonly RefPattern[]): RefValue[] {
  const found = new Map<ByteString, RefValue>();
  for (const pattern of patterns) {
    for (const ref of refs.withPrefix(pattern.prefix)) {
      if (pattern.matches(ref.name)) found.set(ref.name, ref);
    }
  }
  const selected = [...found.values()];
  // One pattern's refs come in order already.
  return patterns.length === 1 ? selected : selected.sort((a, b) => (a.name < b.name ? -1 : 1));
}
