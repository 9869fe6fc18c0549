import { CodedError } from "../base/index.ts";
import { parseArtifactName } from "../storage/index.ts";

/** The SHA-256 in an artifact's name, so that nothing else that a manifest says becomes a path. Errors: `corrupt`. */
export function artifactDigest(name: string): string {
  const parts = parseArtifactName(name);
  if (!parts) throw new CodedError("corrupt", "manifest names an artifact that cannot be one", { artifact: name.slice(0, 300) });
  return parts.sha256;
}
