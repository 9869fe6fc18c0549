import type { Pack } from "./generation.ts";

/** Names of the packfiles of a list. */
export function artifactNames(packs: readonly Pack[]): ReadonlySet<string> {
  return new Set(packs.map(({ pack }) => pack.name));
}
