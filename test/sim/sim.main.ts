import { parseArgs } from "node:util";
import { runScenario, type Scenario, scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "1" },
    nodes: { type: "string", default: "8" },
    scenario: { type: "string", default: "chaos" },
  },
});
if (!(values.scenario in scenarios)) throw new Error(`--scenario is one of ${Object.keys(scenarios).join(", ")}`);
for (let run = 0; run < Number(values.runs); run++) {
  const seed = Number(values.seed) + run;
  const started = process.hrtime.bigint();
  const result = await runScenario(values.scenario as Scenario, seed, Number(values.nodes));
  const realMs = Number((process.hrtime.bigint() - started) / 1_000_000n);
  process.stdout.write(`${JSON.stringify({ scenario: values.scenario, seed, nodes: Number(values.nodes), ...result, realMs })}\n`);
}
