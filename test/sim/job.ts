import { type RunHooks, runScenario, type ScenarioResult, type ScenarioRun } from "./run-scenario.ts";

/** How a run ended. */
export interface JobResult {
  readonly run: ScenarioRun;
  readonly result?: ScenarioResult;
  /** What failed, with the command that replays it. */
  readonly error?: string;
}

/** Runs one scenario to its end, good or bad. */
export async function runJob(run: ScenarioRun, hooks?: RunHooks): Promise<JobResult> {
  try {
    return { run, result: await runScenario(run, hooks) };
  } catch (error) {
    return { run, error: textOf(error) };
  }
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? error.message).split("\n").filter((line) => !/node_modules|node:internal/.test(line));
  return error.cause === undefined ? lines.join("\n") : `${error.message}\n${textOf(error.cause)}`;
}
