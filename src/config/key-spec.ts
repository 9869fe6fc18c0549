import type { z } from "zod";

/** A value as the file holds it, or as text from the environment or a flag becomes. */
export type RawValue = string | number | bigint | boolean | readonly string[];

/** How text becomes a value, and the type that the reference names. */
export type KeyKind = "string" | "address" | "url" | "duration" | "size" | "integer" | "number" | "boolean" | "list" | "secrets";

/** One key of the configuration. */
export interface KeySpec<T = unknown, D extends RawValue | undefined = RawValue | undefined> {
  readonly kind: KeyKind;
  readonly schema: z.ZodType<T>;
  /** As it would stand in the file; undefined: not set. */
  readonly default: D;
  /** What happens without a value, where there is no default. */
  readonly unset?: string;
  /** The flag of `gitaly serve`, without its dashes. */
  readonly flag?: string;
  /** One sentence for the reference. */
  readonly doc: string;
}

type Extra = Pick<KeySpec, "unset" | "flag">;

/** Makes an entry of the table of keys. */
export function key<T, const D extends RawValue>(
  kind: KeyKind,
  schema: z.ZodType<T>,
  doc: string,
  fallback: D,
  extra?: Extra,
): KeySpec<T, D>;
export function key<T>(kind: KeyKind, schema: z.ZodType<T>, doc: string, fallback: undefined, extra: Extra): KeySpec<T, undefined>;
export function key(kind: KeyKind, schema: z.ZodType, doc: string, fallback: RawValue | undefined, extra: Extra = {}): KeySpec {
  return { kind, schema, doc, default: fallback, ...extra };
}

/** Milliseconds of an hour, the unit of many bounds. */
export const hourMs = 3_600_000;
