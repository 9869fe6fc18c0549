import { createHmac, timingSafeEqual } from "node:crypto";
import { type Clock, CodedError } from "../../base/index.ts";
import { formatPosition, type Position, parsePosition } from "../position/position.ts";

type Secret = string | Uint8Array;

/** How tokens are made and believed. */
export interface PositionTokenOptions {
  /** Signs the tokens; the same in every process that takes them, each at least 16 bytes. Of several the first signs, all are believed. */
  readonly secret: Secret | readonly Secret[];
  /** Names what the tokens are for, so that another system with the same secret does not take them. Default "". */
  readonly audience: string;
  /** A position is forgotten this long after it was noted. Default 30000 ms. */
  readonly expirationMs: number;
}

const defaultPositionTokenOptions: Omit<PositionTokenOptions, "secret"> = { audience: "", expirationMs: 30_000 };

/** A position and when it was noted, in ms since 1970. */
export interface NotedPosition {
  readonly position: Position;
  readonly notedAtMs: number;
}

/**
 * What a token says. `malformed`: not a token; `forged`: signed with another secret; `foreign`: for another audience; `stale`:
 * all it held is forgotten. Only a valid one has positions.
 */
export type TokenVerdict =
  | { readonly verdict: "valid"; readonly positions: ReadonlyMap<string, NotedPosition> }
  | { readonly verdict: "malformed" | "forged" | "foreign" | "stale" };

const version = "p1";
const maxChars = 8192;
const maxPositions = 64;
const minSecretBytes = 16;

/** Signs positions for callers to carry, and reads what they bring back. */
export class PositionTokens {
  readonly #options: PositionTokenOptions;
  readonly #secrets: readonly [Secret, ...Secret[]];
  readonly #clock: Clock;

  /** Errors: `bad_config` for a short secret. */
  constructor(options: Partial<PositionTokenOptions> & Pick<PositionTokenOptions, "secret">, deps: { readonly clock: Clock }) {
    this.#options = { ...defaultPositionTokenOptions, ...options };
    const [first, ...others] = [options.secret].flat() as Secret[];
    if (first === undefined || [first, ...others].some((secret) => Buffer.byteLength(secret) < minSecretBytes)) {
      throw new CodedError("bad_config", "the secret that signs position tokens is too short", { minBytes: minSecretBytes });
    }
    this.#secrets = [first, ...others];
    this.#clock = deps.clock;
  }

  /** The signed text for `positions`; the 64 that were noted last. */
  sign(positions: ReadonlyMap<string, NotedPosition>): string {
    const newest = [...positions].sort(([, a], [, b]) => b.notedAtMs - a.notedAtMs).slice(0, maxPositions);
    const entries = newest.map(([key, { position, notedAtMs }]) => [key, formatPosition(position), Math.floor(notedAtMs)]);
    const payload = Buffer.from(JSON.stringify({ aud: this.#options.audience, pos: entries })).toString("base64url");
    return `${version}.${payload}.${macOf(this.#secrets[0], payload).toString("base64url")}`;
  }

  /** Judges a text from outside; it may be anything. */
  verify(token: string): TokenVerdict {
    const [given, payload, mac, ...rest] = token.length <= maxChars ? token.split(".") : [];
    if (given !== version || payload === undefined || mac === undefined || rest.length > 0) return { verdict: "malformed" };
    const actual = Buffer.from(mac, "base64url");
    if (!this.#secrets.some((secret) => isEqual(actual, macOf(secret, payload)))) return { verdict: "forged" };
    const contents = parsePayload(payload);
    if (!contents) return { verdict: "malformed" };
    if (contents.audience !== this.#options.audience) return { verdict: "foreign" };
    const positions = new Map(contents.entries.filter(([, noted]) => this.isFresh(noted)));
    return positions.size > 0 || contents.entries.length === 0 ? { verdict: "valid", positions } : { verdict: "stale" };
  }

  /** Notes a position as of now. */
  note(position: Position): NotedPosition {
    return { position, notedAtMs: this.#clock.now() };
  }

  /** Whether a position still counts. */
  isFresh({ notedAtMs }: NotedPosition): boolean {
    return this.#clock.now() - notedAtMs < this.#options.expirationMs;
  }
}

function macOf(secret: Secret, payload: string): Buffer {
  return createHmac("sha256", secret).update(`${version}.${payload}`).digest();
}

function isEqual(actual: Buffer, expected: Buffer): boolean {
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

function parsePayload(payload: string): { audience: string; entries: [string, NotedPosition][] } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload, "base64url").toString());
  } catch {
    return undefined;
  }
  const { aud, pos } = (value ?? {}) as { aud?: unknown; pos?: unknown };
  if (typeof aud !== "string" || !Array.isArray(pos) || pos.length > maxPositions) return undefined;
  const entries: [string, NotedPosition][] = [];
  for (const item of pos) {
    const [key, text, notedAtMs] = Array.isArray(item) ? item : [];
    const position = typeof text === "string" ? parsePosition(text) : undefined;
    if (typeof key !== "string" || !position || !Number.isSafeInteger(notedAtMs)) return undefined;
    entries.push([key, { position, notedAtMs }]);
  }
  return { audience: aud, entries };
}
