/** One line of a benchmark: ours beside a peer, measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number;
  readonly peerName: string;
  /** ours / peer: the median of the pairs' ratios where there are pairs; undefined where a ratio means nothing. */
  readonly ratio: number | undefined;
  readonly aim: string;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Measures two things in turn, the order changing each round, after one round that does not count. */
export async function pairwise(
  rounds: number,
  ours: (round: number) => Promise<number>,
  peer: (round: number) => Promise<number>,
): Promise<{ ours: number; peer: number; ratio: number }> {
  const pairs: [number, number][] = [];
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 === 0 ? await ours(round) : await peer(round);
    const second = round % 2 === 0 ? await peer(round) : await ours(round);
    if (round > 0) pairs.push(round % 2 === 0 ? [first, second] : [second, first]);
  }
  return { ours: median(pairs.map(([a]) => a)), peer: median(pairs.map(([, b]) => b)), ratio: median(pairs.map(([a, b]) => a / b)) };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

/** Writes each figure as soon as it is there. */
export async function printFigures(
  title: string,
  figures: Iterable<Figure> | AsyncIterable<Figure>,
  write: (line: string) => void,
): Promise<void> {
  write(`\n${title}`);
  const number = (value: number) => (value >= 100 || value === 0 ? value.toFixed(0) : value.toPrecision(3));
  for await (const { name, unit, ours, peer, peerName, ratio, aim } of figures) {
    const values = `${number(ours).padStart(8)} ${unit}  ${peerName} ${number(peer)} ${unit}`;
    write(`  ${name.padEnd(34)} ${values}${ratio === undefined ? "" : `  ratio ${number(ratio)}`}  (aim ${aim})`);
  }
}
