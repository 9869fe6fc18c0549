import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

interface Sample {
  readonly atMs: number;
  readonly heapBytes: number;
}

export interface HeapVerdict {
  readonly flat: boolean;
  readonly samples: number;
  /** Mean of the last half. */
  readonly meanKilobytes: number;
  /** By how much a straight line through the last half rises in it. */
  readonly riseKilobytes: number;
}

/** A rise that is noise: what a cluster has at one moment and not at another, such as open streams and messages that wait. */
const noiseShare = 0.03;

/** Watches what is left on the heap after collections, over virtual time. */
export class HeapWatch {
  readonly #samples: Sample[] = [];
  readonly #collect: () => void;

  constructor() {
    setFlagsFromString("--expose-gc");
    this.#collect = runInNewContext("gc") as () => void;
  }

  sample(atMs: number): void {
    this.#collect();
    this.#samples.push({ atMs, heapBytes: process.memoryUsage().heapUsed });
  }

  /** Flat: the line through the last half of the samples rises by less than 3 % of their mean. */
  verdict(): HeapVerdict {
    return judge(this.#samples);
  }
}

/** Judges samples as {@link HeapWatch.verdict} says. */
export function judge(samples: readonly Sample[]): HeapVerdict {
  const half = samples.slice(Math.floor(samples.length / 2));
  const mean = (of: (sample: Sample) => number) => half.reduce((sum, sample) => sum + of(sample), 0) / half.length;
  const meanAtMs = mean(({ atMs }) => atMs);
  const meanBytes = mean(({ heapBytes }) => heapBytes);
  const above = half.reduce((sum, { atMs, heapBytes }) => sum + (atMs - meanAtMs) * (heapBytes - meanBytes), 0);
  const below = half.reduce((sum, { atMs }) => sum + (atMs - meanAtMs) ** 2, 0);
  const spanMs = (half.at(-1)?.atMs ?? 0) - (half[0]?.atMs ?? 0);
  const riseBytes = below === 0 ? 0 : (above / below) * spanMs;
  return {
    flat: riseBytes < noiseShare * meanBytes,
    samples: samples.length,
    meanKilobytes: Math.round(meanBytes / 1024),
    riseKilobytes: Math.round(riseBytes / 1024),
  };
}
