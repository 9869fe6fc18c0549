import { CodedError } from "../base/index.ts";
import type { AliveMessage } from "./codec/message.ts";

/** Longest metadata of a node in bytes. */
export const maxMetaBytes = 512;
/** Longest name of a node in bytes. */
const maxNameBytes = 255;
/** Peers stop before the number wraps; beyond it a node could never refute. */
const maxIncarnation = 0x7fffffff;

/** Protocol versions 1 to 5 are understood, 2 is spoken; no delegate protocol. */
export const ownVersions: Uint8Array = Uint8Array.of(1, 5, 2, 0, 0, 0);

/** True for an incarnation that still can be refuted. */
export function checkIncarnation({ incarnation }: { incarnation: number }): boolean {
  return incarnation <= maxIncarnation;
}

/** True for a claim that may enter the view: what passes here is passed on to others, so it must not harm them either. */
export function checkNode({ node, address, port, meta, versions, incarnation }: AliveMessage): boolean {
  const nameBytes = Buffer.byteLength(node);
  if (nameBytes < 1 || nameBytes > maxNameBytes || !checkIncarnation({ incarnation })) return false;
  if ((address.length !== 4 && address.length !== 16) || port === 0 || meta.length > maxMetaBytes) return false;
  const [min, max, current] = versions;
  if (min === undefined || max === undefined || current === undefined) return true;
  return min >= 1 && min <= max && current >= min && current <= max && min <= 5;
}

/** Six bytes: old peers fail on shorter vectors, so a short one is not passed on as it is. */
export function normalVersions(versions: Uint8Array): Uint8Array {
  return versions.length >= 6 ? versions.subarray(0, 6) : ownVersions;
}

/** Errors: `invalid_argument` for a name that peers would not take. */
export function checkName(name: string): void {
  const sizeBytes = Buffer.byteLength(name);
  if (sizeBytes >= 1 && sizeBytes <= maxNameBytes && name.isWellFormed()) return;
  throw new CodedError("invalid_argument", "a member name has 1 to 255 bytes of UTF-8", { sizeBytes });
}

/** Errors: `limit_exceeded` for metadata that peers would not take. */
export function checkMeta(meta: Uint8Array): void {
  if (meta.length <= maxMetaBytes) return;
  throw new CodedError("limit_exceeded", "member metadata is longer than 512 bytes", { sizeBytes: meta.length, limitBytes: maxMetaBytes });
}
