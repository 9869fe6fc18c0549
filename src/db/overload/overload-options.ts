/** What protects the primary from the reads of a day without replicas. Shares are of the primary's `poolSize` unless said otherwise. */
export interface OverloadOptions {
  /** Reads that fall back to the primary get this share of the rate of all reads, as measured over ten seconds. 1: no limit. Default 0.2. */
  readonly fallbackShare: number;
  /** They get at least this much, so that a process with few reads does not go without. Default 5 per second. */
  readonly fallbackMinPerSecond: number;
  /** And at most this much. Default Infinity. */
  readonly fallbackMaxPerSecond: number;
  /** So many may come at once after a quiet time; where a second's share is more, that many. Default 20. */
  readonly fallbackBurst: number;
  /** Connections that they may use at one time. Default 0.25. */
  readonly fallbackSlotShare: number;
  /** A read that falls back waits this long for its turn before it is refused. Default 250 ms. */
  readonly fallbackWaitMs: number;
  /** Connections that no read may use, so that writes find one: sticky reads get what is left. Default 0.2. */
  readonly writeSlotShare: number;
  /** Reads of one kind that may wait for the primary; more are refused at once. Default 200. */
  readonly maxQueuedReads: number;
  /** While the primary is short of connections or fails, fall-back reads get less: half each second, down to a tenth. Default true. */
  readonly adaptive: boolean;
  /**
   * How many processes send such reads to this primary now, this one included; asked at each use. `fallbackMinPerSecond`,
   * `fallbackMaxPerSecond` and `fallbackBurst` are then what all of them may together, and each takes an equal part. Default 1.
   */
  readonly sharedBy: () => number;
  /** Second and later tries of anything may be this share of the requests of the last ten seconds … Default 0.1. */
  readonly retryShare: number;
  /** … and this many within ten seconds in any case. Default 100. */
  readonly minRetries: number;
}

export const defaultOverloadOptions: OverloadOptions = {
  fallbackShare: 0.2,
  fallbackMinPerSecond: 5,
  fallbackMaxPerSecond: Number.POSITIVE_INFINITY,
  fallbackBurst: 20,
  fallbackSlotShare: 0.25,
  fallbackWaitMs: 250,
  writeSlotShare: 0.2,
  maxQueuedReads: 200,
  adaptive: true,
  sharedBy: () => 1,
  retryShare: 0.1,
  minRetries: 100,
};

/** How the primary's connections are shared out. Whatever the size, reads of both kinds get one, and, from two on, so do writes. */
export interface ReadSlots {
  /** Of all reads together. */
  readonly reads: number;
  readonly fallback: number;
}

/** Shares out `poolSize` connections. */
export function readSlots(poolSize: number, { fallbackSlotShare, writeSlotShare }: OverloadOptions): ReadSlots {
  const reserved = poolSize > 1 ? Math.max(1, Math.round(poolSize * writeSlotShare)) : 0;
  const reads = Math.max(1, poolSize - reserved);
  return { reads, fallback: Math.min(reads, Math.max(1, Math.floor(poolSize * fallbackSlotShare))) };
}
