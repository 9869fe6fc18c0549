import { CodedError } from "../base/index.ts";
import type { AliveMessage, DeadMessage, SuspectMessage } from "./codec/message.ts";
import { fitsVersions } from "./versions.ts";

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

/** True for an incarnation that a node can have reached which is `known` so. */
export function checkIncarnation({ incarnation }: { incarnation: number }, known: { incarnation: number }): boolean {
  return incarnation <= maxLeapTo || incarnation <= known.incarnation + maxMissed;
}

/** True for an accusation that may be believed and passed on. */
export function checkAccusation(message: SuspectMessage | DeadMessage, known: { incarnation: number }): boolean {
  return Buffer.byteLength(message.from) <= maxNameBytes && checkIncarnation(message, known);
}

/**
 * True for a claim that may enter the view of a member that says `ownVersions`: what passes here is passed on to others, so it
 * must not harm them either, and one claim of versions that nobody can have would keep everyone from joining.
 */
export function checkNode({ node, address, port, meta, versions }: AliveMessage, ownVersions: Uint8Array): boolean {
  const nameBytes = Buffer.byteLength(node);
  if (nameBytes < 1 || nameBytes > maxNameBytes) return false;
  if ((address.length !== 4 && address.length !== 16) || port === 0 || meta.length > maxMetaBytes) return false;
  return fitsVersions(versions, ownVersions);
}

/** Six bytes: old peers fail on shorter vectors, so for a short one stands this member's own, which goes with all others. */
export function normalVersions(versions: Uint8Array, ownVersions: Uint8Array): Uint8Array {
  return versions.length >= 6 ? versions.subarray(0, 6) : ownVersions;
}

/** The first protocol that tells ports. */
const portVersion = 2;

/** What names no port, and in the first protocol everything, is at the port that this member is bound to itself. */
export function withPort<T extends { readonly port: number }>(message: T, boundPort: number, protocolVersion: number): T {
  return message.port === 0 || protocolVersion < portVersion ? { ...message, port: boundPort } : message;
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
