import { createHash } from "node:crypto";
import { CodedError } from "../base/index.ts";

const maxEncodedLength = 150;
const idPattern = "[0-9a-f]{32}";
const artifactPattern = new RegExp(
  `^(${idPattern})\\.(0|[1-9][0-9]{0,15})\\.(${idPattern})\\.([0-9a-f]{64})\\.(pack|idx|rev|bitmap|refs)$`,
);
const slotPattern = /^[0-9a-f]{14}$/;

/** What an artifact holds, as the end of its name. */
export type ArtifactExt = "pack" | "idx" | "rev" | "bitmap" | "refs";

/** The facts in an artifact's name. */
export interface ArtifactNameParts {
  readonly repoId: string;
  readonly gcEpoch: number;
  readonly txid: string;
  readonly sha256: string;
  readonly ext: ArtifactExt;
}

/** Number of random bytes in a repository, pool or transaction id. */
export const idByteCount = 16;

/** Where cluster nodes find the id of their cluster. */
export const clusterIdKey = "cluster-id";

/** Below it live the records of all repositories. */
export const repositoriesPrefix = "repos/";

/** True for a repository, pool or transaction id: 32 lower-case hex digits. */
export function isId(text: string): boolean {
  return text.length === 32 && /^[0-9a-f]+$/.test(text);
}

/**
 * The path as one segment of a key: `p.` and the path with each byte outside `a-z 0-9 - _` as `%` and two lower-case hex digits; where that
 * (with `p.`) is longer than 150 characters, `h.` and the SHA-256 of the path's bytes in hex.
 */
export function encodeRepositoryPath(path: string): string {
  let encoded = "p.";
  for (const byte of Buffer.from(path, "utf8")) {
    const char = String.fromCharCode(byte);
    encoded += /[a-z0-9_-]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0")}`;
  }
  return encoded.length <= maxEncodedLength ? encoded : `h.${createHash("sha256").update(path, "utf8").digest("hex")}`;
}

/** The path that was encoded; undefined where only its digest is known, or for what `encodeRepositoryPath` does not make. */
export function decodeRepositoryPath(encoded: string): string | undefined {
  if (!encoded.startsWith("p.")) return undefined;
  const bytes = encoded.slice(2).replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const path = Buffer.from(bytes, "latin1").toString("utf8");
  return encodeRepositoryPath(path) === encoded ? path : undefined;
}

/** Below it live the generations of a repository, newest first; takes the encoded path. */
export function generationsPrefix(encodedPath: string): string {
  return `${repositoriesPrefix}${encodedPath}/g/`;
}

/** The key of generation `n`: 14 hex digits of 2^53 - 1 - n, so that newer sorts first. */
export function slotKey(encodedPath: string, n: number): string {
  if (!Number.isSafeInteger(n) || n < 1) throw new CodedError("internal", "not a generation number", { n });
  return generationsPrefix(encodedPath) + (Number.MAX_SAFE_INTEGER - n).toString(16).padStart(14, "0");
}

/** The generation that a key stands for, where it is a slot of this repository. */
export function slotOfKey(encodedPath: string, key: string): number | undefined {
  const prefix = generationsPrefix(encodedPath);
  const digits = key.slice(prefix.length);
  if (!key.startsWith(prefix) || !slotPattern.test(digits)) return undefined;
  const n = Number.MAX_SAFE_INTEGER - Number.parseInt(digits, 16);
  return n >= 1 ? n : undefined;
}

/** `<repoId>.<gcEpoch>.<txid>.<sha256>.<ext>` */
export function artifactName(parts: ArtifactNameParts): string {
  return `${parts.repoId}.${parts.gcEpoch}.${parts.txid}.${parts.sha256}.${parts.ext}`;
}

/** The facts in an artifact's name; undefined for anything that is not one. */
export function parseArtifactName(name: string): ArtifactNameParts | undefined {
  const match = artifactPattern.exec(name);
  if (!match) return undefined;
  const [, repoId = "", gcEpoch = "", txid = "", sha256 = "", ext] = match;
  return { repoId, gcEpoch: Number(gcEpoch), txid, sha256, ext: ext as ArtifactExt };
}

/** The key of an artifact in its pool. */
export function artifactKey(poolId: string, name: string): string {
  return `pools/${poolId}/p/${name}`;
}

/** The key that says a repository's life, which begins in slot `n`, belongs to a pool. */
export function markerKey(poolId: string, repoId: string, n: number, encodedPath: string): string {
  return `pools/${poolId}/m/${repoId}.${n}.${encodedPath}`;
}
