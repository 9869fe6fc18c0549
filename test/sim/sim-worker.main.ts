import { runJob } from "./job.ts";
import type { ScenarioRun } from "./run-scenario.ts";

// Runs what its parent sends, one after the other, until the parent disconnects.
process.on("message", (run: ScenarioRun) => {
  void runJob(run).then((result) => process.send?.(result));
});
