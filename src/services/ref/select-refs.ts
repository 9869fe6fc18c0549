import type { ByteString, Clock } from "../../base/index.ts";
import type { RefValue, RefView } from "../../git/index.ts";
import type { RefPattern } from "./ref-pattern.ts";

/** Names compared with globs before others get their turn. */
const testsPerTurn = 8192;

/** The refs that any of `patterns` matches, each once, sorted by name byte by byte. */
export async function selectRefs(
  refs: RefView,
  patterns: readonly RefPattern[],
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly RefValue[]> {
  const found = new Map<ByteString, RefValue>();
  let tests = 0;
  for (const pattern of patterns) {
    for (const ref of refs.withPrefix(pattern.prefix)) {
      if (pattern.matches(ref.name)) found.set(ref.name, ref);
      if (pattern.isGlob && ++tests % testsPerTurn === 0) await clock.sleep(0, signal);
    }
  }
  const selected = [...found.values()];
  // One pattern's refs come in order already.
  return patterns.length === 1 ? selected : selected.sort((a, b) => (a.name < b.name ? -1 : 1));
}
