const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const whole = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** Milliseconds of a Go duration such as `10s`, `1m30s` or `1.5h`; undefined where the text is none, or is negative. */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (text.length > 100 || !whole.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(part)) totalMs += Number(amount) * (unitMs[unit ?? ""] ?? Number.NaN);
  return totalMs;
}
