import { configInput } from "../config-options.ts";
import type { CliCheck, CliContext } from "../context.ts";
import { formatJson, plain } from "../output.ts";

/** Options of `check`: the configuration flags, and `json`. */
export interface CheckOptions extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
}

/** Runs every check and prints its result; 1 when one of them fails. */
export async function runCheck({ json, ...flags }: CheckOptions, context: CliContext): Promise<number> {
  const { deps, io } = context;
  const config = deps.loadConfig(configInput(flags, context));
  const results: CliCheck[] = [{ name: "configuration", ok: true, message: ignoredMessage(config.ignored) }];
  const show = ({ name, ok, message }: CliCheck) =>
    io.stdout(`${ok ? "ok  " : "FAIL"}  ${plain(name)}${message === "" ? "" : `: ${plain(message)}`}\n`);
  if (!json) results.forEach(show);
  for await (const { name, ok, message } of deps.runChecks(config)) {
    results.push({ name, ok, message });
    if (!json) show({ name, ok, message });
  }
  if (json) io.stdout(formatJson(results));
  return results.every(({ ok }) => ok) ? 0 : 1;
}

function ignoredMessage(ignored: readonly string[]): string {
  return ignored.length === 0 ? "" : `ignored, they have no effect here: ${ignored.join(", ")}`;
}
