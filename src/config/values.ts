import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { parseGoDuration } from "../base/index.ts";
import { type HostPort, isHost, type PeerAddress, parseListenAddress, parsePeerAddress } from "./addresses.ts";
import { hasUserInfo } from "./urls.ts";

const maxTextLength = 4096;
const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Text that `read` turns into a value; where `read` gives a string instead, that says what is wrong. */
function parsed<T extends object>(read: (text: string) => T | string): z.ZodType<T> {
  return text().transform((value, context) => {
    const result = read(value);
    if (typeof result !== "string") return result;
    context.addIssue(result);
    return z.NEVER;
  });
}

/** Text of 1 to `maxLength` characters without control characters. */
export function text(maxLength = maxTextLength) {
  return z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(maxLength, `must be at most ${maxLength} characters`)
    .refine((value) => !/\p{Cc}/u.test(value), "must not contain control characters");
}

/** One of `names`. */
export function oneOf<const T extends string>(...names: T[]) {
  return z.enum(names, `must be ${names.map((name) => `"${name}"`).join(" or ")}`);
}

/** true or false. */
export const flag = z.boolean("must be true or false");

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number) {
  return z
    .number(`must be a whole number from ${min} to ${max}`)
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    });
}

/** A finite number above 0. */
export const positiveNumber = z
  .number("must be a number above 0")
  .refine((value) => value > 0 && value <= 1e6, "must be above 0 and at most 1000000");

/** A finite number from `min` to `max`. */
export function numberFrom(min: number, max = 1e9) {
  const message = max === 1e9 ? `must be a number from ${min}` : `must be a number from ${min} to ${max}`;
  return z.number(message).refine((value) => value >= min && value <= max, message);
}

/** An unsigned 64-bit integer. */
export const uint64 = z
  .union([z.bigint(), z.number().refine(Number.isSafeInteger).transform(BigInt)], "must be a whole number from 0 to 18446744073709551615")
  .refine((value) => value >= 0n && value < 2n ** 64n, "must be a whole number from 0 to 18446744073709551615");

/** A Go duration such as `10s`, from `minMs` to `maxMs`; the value is in milliseconds. */
export function duration(minMs: number, maxMs: number) {
  return z.string('must be a duration with its unit, like "10s" or "1m30s"').transform((value, context) => {
    const ms = parseGoDuration(value);
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    context.addIssue(
      ms === undefined ? 'must be a duration with its unit, like "10s" or "1m30s"' : `must be from ${minMs / 1000}s to ${maxMs / 1000}s`,
    );
    return z.NEVER;
  });
}

/** Bytes: a whole number, or text with a unit such as `10GiB`. */
export const size = z.union([z.number(), z.string()], 'must be a number of bytes, or text like "10GiB"').transform((value, context) => {
  const [, amount, unit] = /^(\d{1,15}) ?([A-Za-z]*)$/.exec(String(value)) ?? [];
  const factor = Object.hasOwn(sizeUnits, unit ?? "") ? sizeUnits[unit ?? ""] : undefined;
  const bytes = Number(amount) * (factor ?? Number.NaN);
  if (Number.isSafeInteger(bytes)) return bytes;
  context.addIssue('must be a number of bytes, or text like "10GiB"');
  return z.NEVER;
});

/** HOST:PORT to listen on. */
export const listenAddress: z.ZodType<HostPort> = parsed(parseListenAddress);

/** A name or an address without a port. */
export const host = text(253).refine(isHost, "must be a host name or an IP address, without a port");

/** URL of a peer, kept as written beside what it means. */
export const peerAddress: z.ZodType<PeerAddress & { readonly text: string }> = parsed((value) => {
  const peer = parsePeerAddress(value);
  return typeof peer === "string" ? peer : { ...peer, text: value };
});

/** Base64 of 16, 24 or 32 bytes, kept as text: it is a secret, and text can be frozen. */
export const encryptionKey = z.string("must be a string").refine((value) => {
  const bytes = Buffer.from(value, "base64");
  return [16, 24, 32].includes(bytes.length) && bytes.toString("base64") === value;
}, "must be base64 of 16, 24 or 32 bytes, as gitaly keygen prints it");

/** A list of what `item` accepts, each entry once, at most 1000. */
export function list<T>(item: z.ZodType<T>) {
  return z.array(item, "must be a list of strings").max(1000, "must have at most 1000 entries");
}

/** One value of what `item` accepts, or a list of at least one; gives a list. */
export function oneOrMore<T>(item: z.ZodType<T>) {
  return z.preprocess((value) => (typeof value === "string" ? [value] : value), list(item).min(1, "must not be empty"));
}

/** Text that signs something; kept as text, since it is compared with nothing. */
export const signingSecret = z
  .string("must be a string")
  .refine((value) => Buffer.byteLength(value) >= 16 && value.length <= 1024, "must have 16 bytes or more, at most 1024 characters");

/** `http://HOST[:PORT][/PATH]` without a slash at the end. */
export const httpUrl = text().transform((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !hasUserInfo(value) && url.search === "" && url.hash === "")
    return value.replace(/\/+$/, "");
  context.addIssue("must be http://HOST[:PORT], without a user, a query or a fragment");
  return z.NEVER;
});

/** `file:///DIR` or `s3://BUCKET/PREFIX`. */
export const objectStorageUrl = text().refine(
  (value) => isBucketUrl(value) || isDirectoryUrl(value),
  "must be file:///DIRECTORY or s3://BUCKET/PREFIX?endpoint=…&region=…",
);

function isBucketUrl(value: string): boolean {
  return URL.canParse(value) && new URL(value).protocol === "s3:" && new URL(value).hostname !== "";
}

function isDirectoryUrl(value: string): boolean {
  if (!URL.canParse(value) || new URL(value).protocol !== "file:") return false;
  try {
    return isAbsolute(fileURLToPath(value));
  } catch {
    return false;
  }
}

/** `postgres://…`; without the slashes a password in it would not be known for one. */
export const databaseUrl = text().refine(
  (value) => URL.canParse(value) && /^postgres(ql)?:\/\//i.test(value),
  "must be postgres://[USER[:PASSWORD]@]HOST[:PORT]/NAME",
);

/** `redis://…`, or `rediss://…` over TLS. */
export const redisUrl = text().refine(
  (value) => URL.canParse(value) && /^rediss?:\/\//i.test(value),
  "must be redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]",
);

/** A database server whose other parameters are the primary's. */
export const serverAddress = text(260).refine((value) => {
  const [, address, port] = /^(\[[\da-fA-F:.]+\]|[^\s:[\]/@?#,]+)(?::(\d{1,5}))?$/.exec(value) ?? [];
  return (
    address !== undefined &&
    isHost(address.replace(/^\[|\]$/g, "")) &&
    (port === undefined || (Number(port) >= 1 && Number(port) <= 65_535))
  );
}, "must be HOST or HOST:PORT");

/** 1 to 128 of the characters that a node name may have. */
export const nodeName = z.string("must be a string").regex(/^[A-Za-z0-9._:-]{1,128}$/, "must be 1 to 128 of A-Z a-z 0-9 . _ : -");
