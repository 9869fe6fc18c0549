import { parseArgs } from "node:util";
import { HeapWatch } from "./heap-watch.ts";
import { runJob } from "./job.ts";
import { runJobs } from "./job-pool.ts";
import { runMatrix } from "./matrix.ts";
import type { ScenarioRun } from "./run-scenario.ts";
import { defaultMinutes, isScenario, scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    scenario: { type: "string", default: "mixed" },
    seed: { type: "string", default: "1" },
    /** Seeds that are run, from `--seed` upwards. */
    runs: { type: "string", default: "1" },
    nodes: { type: "string", default: "8" },
    /** Virtual minutes. */
    minutes: { type: "string" },
    /** Processes; 0 = run in this one. */
    workers: { type: "string", default: "0" },
    /** Watch the heap and say whether it stays flat; runs in this process. */
    heap: { type: "boolean", default: false },
    /** Everything that a release is held to. */
    matrix: { type: "boolean", default: false },
  },
});
const print = (line: string) => void process.stdout.write(`${line}\n`);
const { scenario } = values;
if (!isScenario(scenario)) throw new Error(`--scenario is one of ${Object.keys(scenarios).join(", ")}`);

let failed = false;
if (values.matrix) failed = !(await runMatrix(Number(values.workers) || 2, Number(values.seed), print));
else {
  const minutes = Number(values.minutes ?? defaultMinutes(scenario));
  const jobs: ScenarioRun[] = Array.from({ length: Number(values.runs) }, (_, index) => {
    return { scenario, seed: Number(values.seed) + index, nodes: Number(values.nodes), minutes };
  });
  const report = ({ run, result, error }: Awaited<ReturnType<typeof runJob>>) => {
    failed ||= error !== undefined;
    print(error ?? JSON.stringify({ ...run, ...result }));
  };
  if (values.heap) {
    for (const job of jobs) {
      const watch = new HeapWatch();
      report(await runJob(job, { onPhaseEnd: (virtualMs) => watch.sample(virtualMs) }));
      const verdict = watch.verdict();
      failed ||= !verdict.flat;
      print(JSON.stringify({ heap: verdict }));
    }
  } else if (Number(values.workers) > 0) await runJobs(jobs, Number(values.workers), report);
  else for (const job of jobs) report(await runJob(job));
}
process.exitCode = failed ? 1 : 0;
