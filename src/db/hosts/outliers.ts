/** When a replica that answers, but much slower than the others, is left out for a while. */
export interface OutlierOptions {
  /** Its 99th percentile is this many times the median of the others'. 0: never. Default 5. */
  readonly outlierFactor: number;
  /** And at least this. Default 100 ms. */
  readonly outlierMinMs: number;
  /** For how long; doubled each time in a row, up to ten times this. Default 30000 ms. */
  readonly outlierEjectionMs: number;
}

export const defaultOutlierOptions: OutlierOptions = { outlierFactor: 5, outlierMinMs: 100, outlierEjectionMs: 30_000 };

/** Statements a server must have answered lately before its percentile means something. */
export const outlierMinSamples = 50;

/** A server that takes part, and its percentile where it has one. */
export interface Sampled {
  readonly name: string;
  readonly p99Ms: number | undefined;
  readonly ejected: boolean;
}

/** Which servers to eject now: the slowest first, and never more than half of all, those counted that are ejected already. */
export function findOutliers(servers: readonly Sampled[], options: OutlierOptions): readonly string[] {
  if (options.outlierFactor <= 0) return [];
  const measured = servers.flatMap(({ name, p99Ms, ejected }) => (p99Ms === undefined || ejected ? [] : [{ name, p99Ms }]));
  const room = Math.floor(servers.length / 2) - servers.filter((one) => one.ejected).length;
  return measured
    .filter((one) => {
      const others = measured.filter((other) => other !== one).map((other) => other.p99Ms);
      return others.length > 0 && one.p99Ms >= Math.max(options.outlierMinMs, options.outlierFactor * median(others));
    })
    .sort((a, b) => b.p99Ms - a.p99Ms)
    .slice(0, Math.max(0, room))
    .map((one) => one.name);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1] as number;
}
