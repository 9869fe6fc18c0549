/** How a server's answers add up over time, so that it neither flaps nor comes back under full load. */
export interface HostHealth {
  readonly up: boolean;
  /** Why it is out; "" where it is up. */
  readonly reason: string;
  /** Failed judgements in a row. */
  readonly fails: number;
  /** Passed judgements in a row. */
  readonly passes: number;
  /** Since when it is back, by the monotonic clock; undefined where it never was away. */
  readonly backSinceMs: number | undefined;
}

/** When a replica goes out and how it comes back. */
export interface HealthOptions {
  /** Failed checks in a row that take a replica out; a request's failure does so at once. Default 2. */
  readonly checksDown: number;
  /** Passed checks in a row that bring it back. Default 2. */
  readonly checksUp: number;
  /** A replica that comes back is given a tenth of its share, growing to all of it over this. Default 30000 ms. */
  readonly slowStartMs: number;
}

export const defaultHealthOptions: HealthOptions = { checksDown: 2, checksUp: 2, slowStartMs: 30_000 };

const leastWeight = 0.1;

/** A server that nothing is known of: its first answer decides. */
export const untried: HostHealth = { up: false, reason: "not_checked", fails: 0, passes: 0, backSinceMs: undefined };

/** After a check that passed. */
export function passed(health: HostHealth, nowMs: number, options: HealthOptions): HostHealth {
  const passes = health.passes + 1;
  if (health.up) return { ...health, fails: 0, passes };
  const first = health.reason === untried.reason;
  if (!first && passes < options.checksUp) return { ...health, fails: 0, passes };
  return { up: true, reason: "", fails: 0, passes, backSinceMs: first ? undefined : nowMs };
}

/** After a check that failed. */
export function failed(health: HostHealth, reason: string, options: HealthOptions): HostHealth {
  const fails = health.fails + 1;
  if (health.up && fails < options.checksDown) return { ...health, fails, passes: 0 };
  return { ...health, up: false, reason, fails, passes: 0 };
}

/** Out at once, without waiting for a second failure. */
export function takenOut(health: HostHealth, reason: string): HostHealth {
  return { ...health, up: false, reason, fails: Math.max(1, health.fails), passes: 0 };
}

/** Whether one more check decides about going out or coming back. */
export function undecided(health: HostHealth): boolean {
  return health.up ? health.fails > 0 : health.passes > 0 || health.reason === untried.reason;
}

/** The share of its fair load that a server gets now: above 0, at most 1. */
export function weightOf(health: HostHealth, nowMs: number, options: HealthOptions): number {
  if (health.backSinceMs === undefined || options.slowStartMs <= 0) return 1;
  return Math.min(1, Math.max(leastWeight, (nowMs - health.backSinceMs) / options.slowStartMs));
}
