import type { JobResult } from "./job.ts";
import { runJobs } from "./job-pool.ts";
import { commandOf, type ScenarioRun } from "./run-scenario.ts";
import type { Scenario } from "./scenarios.ts";

interface Group {
  readonly scenario: Scenario;
  readonly nodes: number;
  readonly seeds: number;
  readonly minutes: number;
}

/** What a release is held to: as much as two cores do in an hour. */
const groups: readonly Group[] = [
  { scenario: "mixed", nodes: 3, seeds: 200, minutes: 60 },
  { scenario: "mixed", nodes: 10, seeds: 200, minutes: 60 },
  { scenario: "mixed", nodes: 100, seeds: 50, minutes: 20 },
  { scenario: "mixed", nodes: 1000, seeds: 5, minutes: 10 },
];

/** Runs every group; prints a line for each, and each failure with its command. True if all rules held. */
export async function runMatrix(workers: number, firstSeed: number, print: (line: string) => void): Promise<boolean> {
  const startedMs = performance.now();
  let failures = 0;
  for (const group of groups) failures += await runGroup(group, workers, firstSeed, print);
  const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
  print(failures === 0 ? `all rules held, ${minutes} minutes` : `${failures} runs failed, ${minutes} minutes`);
  return failures === 0;
}

async function runGroup(group: Group, workers: number, firstSeed: number, print: (line: string) => void): Promise<number> {
  const { seeds, ...rest } = group;
  const startedMs = performance.now();
  const results: JobResult[] = [];
  const jobs: ScenarioRun[] = Array.from({ length: seeds }, (_, index) => ({ ...rest, seed: firstSeed + index }));
  await runJobs(jobs, workers, (result) => {
    results.push(result);
    if (result.error !== undefined) print(`FAILED ${commandOf(result.run)}\n${result.error}`);
  });
  const failed = results.filter(({ error }) => error !== undefined).length;
  const converged = results.flatMap(({ result }) => (result ? [result.convergedMs] : [])).sort((a, b) => a - b);
  const at = (share: number) => ((converged[Math.floor(share * (converged.length - 1))] ?? 0) / 1000).toFixed(1);
  const phases = results.reduce((sum, { result }) => sum + (result?.phases ?? 0), 0);
  print(
    `${group.scenario} N=${group.nodes}: ${seeds} seeds x ${group.minutes} min, ${phases} phases, ${failed} failed, ` +
      `slowest convergence median ${at(0.5)} s, max ${at(1)} s, wall ${((performance.now() - startedMs) / 1000).toFixed(0)} s`,
  );
  return failed;
}
