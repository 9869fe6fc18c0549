import { CodedError } from "../base/index.ts";

const pattern = /^[A-Za-z0-9_-]{1,128}\.[0-9]{1,20}\.[A-Za-z0-9_-]{1,128}\.([0-9a-f]{64})\.([a-z0-9-]{1,16})$/;

/** What the cache reads from an artifact's name: `<repoId>.<gcEpoch>.<txid>.<sha256>.<ext>`. */
export interface ArtifactName {
  readonly sha256: string;
  readonly extension: string;
}

/** The parts of an artifact's name; undefined for anything that is not one, so that no other name becomes a path. */
export function tryParseArtifactName(name: string): ArtifactName | undefined {
  const match = pattern.exec(name);
  return match ? { sha256: match[1] as string, extension: match[2] as string } : undefined;
}

/** As `tryParseArtifactName`. Errors: `corrupt`. */
export function parseArtifactName(name: string): ArtifactName {
  const parsed = tryParseArtifactName(name);
  if (!parsed) throw new CodedError("corrupt", "manifest names an artifact that cannot be one", { artifact: name.slice(0, 300) });
  return parsed;
}
