import { CodedError } from "../base/index.ts";
import type { AliveMessage, DeadMessage, SuspectMessage } from "./codec/message.ts";

/** Longest metadata of a node in bytes. */
export const maxMetaBytes = 512;
/** Longest name of a node in bytes. */
const maxNameBytes = 255;
/** The last incarnation that the wire has. */
export const maxIncarnation = 0xffffffff;
/** Incarnations grow by one at a time. A leap beyond this is forged, and could leave its node no number to refute with. */
const maxLeapTo = 0x7fffffff;
/** What may be missed of a node's incarnations beyond that. */
const maxMissed = 1024;

/** Protocol versions 1 to 5 are understood, 2 is spoken; no delegate protocol. */
export const ownVersions: Uint8Array = Uint8Array.of(1, 5, 2, 0, 0, 0);

/** True for an incarnation that a node can have reached which is `known` so. */
export function checkIncarnation({ incarnation }: { incarnation: number }, known: { incarnation: number }): boolean {
  return incarnation <= maxLeapTo || incarnation <= known.incarnation + maxMissed;
}

/** True for an accusation that may be believed and passed on. */
export function checkAccusation(message: SuspectMessage | DeadMessage, known: { incarnation: number }): boolean {
  return Buffer.byteLength(message.from) <= maxNameBytes && checkIncarnation(message, known);
}

/** True for a claim that may enter the view: what passes here is passed on to others, so it must not harm them either. */
export function checkNode({ node, address, port, meta, versions }: AliveMessage): boolean {
  const nameBytes = Buffer.byteLength(node);
  if (nameBytes < 1 || nameBytes > maxNameBytes) return false;
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
