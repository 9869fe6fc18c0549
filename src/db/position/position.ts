import { CodedError } from "../../base/index.ts";

/** A place in a server's write-ahead log. Only places of one system on one timeline can be compared. */
export interface Position {
  /** The cluster's identifier, a decimal number made by initdb; "" where the position is not known. */
  readonly systemId: string;
  readonly timeline: number;
  readonly lsn: bigint;
}

/** Stands for a write whose place could not be asked: no server is ever known to have reached it. */
export const unknownPosition: Position = { systemId: "", timeline: 0, lsn: 0n };

const lsnText = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/;
const positionText = /^(\d{0,20}):(\d{1,10}):([0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8})$/;

/** Reads PostgreSQL's `H/L`, two hexadecimal halves of a 64-bit number. Errors: `invalid_argument`. */
export function parseLsn(text: string): bigint {
  const [, high, low] = lsnText.exec(text) ?? [];
  if (high === undefined || low === undefined) {
    throw new CodedError("invalid_argument", "not a log position, which looks like 16/B374D848", { text: text.slice(0, 32) });
  }
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** Writes an LSN as PostgreSQL does. */
export function formatLsn(lsn: bigint): string {
  const half = (value: bigint) => value.toString(16).toUpperCase();
  return `${half(lsn >> 32n)}/${half(lsn & 0xffffffffn)}`;
}

/** `SYSTEM:TIMELINE:H/L`, for stores, tokens and logs. */
export function formatPosition({ systemId, timeline, lsn }: Position): string {
  return `${systemId}:${timeline}:${formatLsn(lsn)}`;
}

/** Reads what {@link formatPosition} wrote; undefined for anything else. */
export function parsePosition(text: string): Position | undefined {
  const [, systemId, timeline, lsn] = positionText.exec(text) ?? [];
  if (systemId === undefined || timeline === undefined || lsn === undefined) return undefined;
  return { systemId, timeline: Number(timeline), lsn: parseLsn(lsn) };
}

/** Whether a server at `by` has everything up to `required`; undefined where the two cannot be compared. */
export function isReached(required: Position, by: Position): boolean | undefined {
  if (required.systemId === "" || required.systemId !== by.systemId || required.timeline !== by.timeline) return undefined;
  return by.lsn >= required.lsn;
}

/** Which of two writes' positions to keep: the later timeline's, then the greater; `next` where they are of different systems. */
export function greater(stored: Position, next: Position): Position {
  if (stored.systemId !== next.systemId) return next;
  if (stored.timeline !== next.timeline) return stored.timeline > next.timeline ? stored : next;
  return stored.lsn > next.lsn ? stored : next;
}
