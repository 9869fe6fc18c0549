import { CodedError, sameBytes } from "../base/index.ts";

/** Protocol versions that are understood. */
const minProtocolVersion = 1;
const maxProtocolVersion = 5;

/**
 * What a member that speaks `protocolVersion` says of itself: protocol min, max, current, delegate min, max, current.
 * Errors: `invalid_argument`.
 */
export function versionVector(protocolVersion: number, delegate: readonly [min: number, max: number, current: number]): Uint8Array {
  if (!Number.isInteger(protocolVersion) || protocolVersion < minProtocolVersion || protocolVersion > maxProtocolVersion) {
    throw new CodedError("invalid_argument", "a gossip protocol version is from 1 to 5", { protocolVersion });
  }
  const [min, max, current] = delegate;
  if (![min, max, current].every((each) => Number.isInteger(each) && each >= 0 && each <= 255) || current < min || current > max) {
    throw new CodedError("invalid_argument", "delegate versions are three numbers up to 255, the current one within its range", {
      delegate,
    });
  }
  return Uint8Array.of(minProtocolVersion, maxProtocolVersion, protocolVersion, min, max, current);
}

interface Versioned {
  readonly name: string;
  readonly state: string;
  readonly versions: Uint8Array;
}

/** What all live nodes together understand. */
interface Range {
  min: number;
  max: number;
}

const vectorBytes = 6;

/** True for a vector that says nothing, or that goes together with a member which says `own`. */
export function fitsVersions(versions: Uint8Array, own: Uint8Array): boolean {
  if (versions.length < 3 || sameBytes(versions, own)) return true;
  const [min = 0, max = 0, current = 0] = versions;
  if (min < minProtocolVersion || current < min || current > max) return false;
  if (!isWithin(own[2], min, max) || !isWithin(current, own[0], own[1])) return false;
  if (versions.length < vectorBytes) return true;
  const [delegateMin, delegateMax, delegateCurrent] = versions.subarray(3);
  return isWithin(own[5], delegateMin, delegateMax) && isWithin(delegateCurrent, delegateMin, delegateMax);
}

function isWithin(value = 0, min = 0, max = 0): boolean {
  return value >= min && value <= max;
}

/**
 * Errors: `cluster_mismatch` with the reason `versions`, where some node of either view speaks a version that some live node of
 * them does not understand. Views are not merged then, on either side.
 */
export function checkVersions(remote: readonly Versioned[], local: readonly Versioned[]): void {
  const protocol: Range = { min: 0, max: 255 };
  const delegate: Range = { min: 0, max: 255 };
  for (const view of [remote, local]) {
    for (const { state, versions } of view) {
      if (state !== "alive" || versions.length < vectorBytes) continue;
      narrow(protocol, versions, 0);
      narrow(delegate, versions, 3);
    }
  }
  for (const view of [remote, local]) {
    for (const { name, versions } of view) {
      if (isWithin(versions[2], protocol.min, protocol.max) && isWithin(versions[5], delegate.min, delegate.max)) continue;
      const fields = { reason: "versions", node: name, versions: [...versions.subarray(0, vectorBytes)], protocol, delegate };
      throw new CodedError("cluster_mismatch", "a node speaks a version that another one does not understand", fields);
    }
  }
}

function narrow(range: Range, versions: Uint8Array, at: number): void {
  const min = versions[at] as number;
  const max = versions[at + 1] as number;
  if (min > range.min) range.min = min;
  if (max < range.max) range.max = max;
}
