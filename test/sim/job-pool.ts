import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { JobResult } from "./job.ts";
import type { ScenarioRun } from "./run-scenario.ts";

/** A thousand views of a thousand members do not fit into the usual heap. */
const heapMegabytes = 8192;

/** Runs jobs in `workers` processes, in order; hands each result out as it comes. */
export async function runJobs(jobs: readonly ScenarioRun[], workers: number, onResult: (result: JobResult) => void): Promise<void> {
  const waiting = [...jobs];
  await Promise.all(Array.from({ length: Math.min(workers, jobs.length) }, () => work(waiting, onResult)));
}

async function work(waiting: ScenarioRun[], onResult: (result: JobResult) => void): Promise<void> {
  const child = fork(fileURLToPath(new URL("./sim-worker.main.ts", import.meta.url)), {
    execArgv: [...process.execArgv, `--max-old-space-size=${heapMegabytes}`, "--max-semi-space-size=64"],
  });
  try {
    for (let run = waiting.shift(); run; run = waiting.shift()) onResult(await ask(child, run));
  } finally {
    child.disconnect();
  }
}

function ask(child: ChildProcess, run: ScenarioRun): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a worker ended with ${code} in ${JSON.stringify(run)}`));
    child.once("exit", onExit);
    child.once("message", (result) => {
      child.off("exit", onExit);
      resolve(result as JobResult);
    });
    child.send(run);
  });
}
