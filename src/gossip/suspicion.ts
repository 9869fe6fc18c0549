/** How long a suspect may stay one. */
export interface SuspicionBounds {
  /** With enough confirmations. */
  readonly minMs: number;
  /** With none. */
  readonly maxMs: number;
  /** Confirmations by other members that bring the time down to `minMs`. */
  readonly confirmations: number;
}

/** Bounds for a cluster of `nodes` known nodes, this one and the unforgotten dead included. */
export function suspicionBounds(
  nodes: number,
  options: { suspicionMultiplier: number; suspicionMaxMultiplier: number; probeIntervalMs: number },
): SuspicionBounds {
  const scale = Math.max(1, Math.floor(Math.log10(Math.max(1, nodes)) * 1000) / 1000);
  const minMs = options.suspicionMultiplier * scale * options.probeIntervalMs;
  const wanted = options.suspicionMultiplier - 2;
  // Too few others to confirm: then nobody waits for them.
  const confirmations = nodes - 2 < wanted ? 0 : Math.max(0, wanted);
  return { minMs, maxMs: confirmations < 1 ? minMs : minMs * options.suspicionMaxMultiplier, confirmations };
}

/** What is left of a suspicion after `elapsedMs` with `confirmed` confirmations; 0 or less: it is over. */
export function remainingSuspicionMs(bounds: SuspicionBounds, confirmed: number, elapsedMs: number): number {
  if (bounds.confirmations < 1) return bounds.minMs - elapsedMs;
  const share = Math.log(confirmed + 1) / Math.log(bounds.confirmations + 1);
  return Math.max(bounds.minMs, Math.floor(bounds.maxMs - (bounds.maxMs - bounds.minMs) * share)) - elapsedMs;
}
