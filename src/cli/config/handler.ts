import { configInput } from "../config-options.ts";
import type { CliContext } from "../context.ts";
import { formatJson, plain } from "../output.ts";

/** Options of `config show`: the configuration flags, and `json`. */
export interface ShowOptions extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
}

/** Prints the merged configuration, passwords masked. */
export async function runConfigShow({ json, ...flags }: ShowOptions, context: CliContext): Promise<number> {
  const { toml, settings } = context.deps.showConfig(configInput(flags, context));
  if (json) context.io.stdout(formatJson(settings.map(({ key, value, from }) => ({ key, value: value ?? null, from }))));
  else context.io.stdout(toml.split("\n").map(plain).join("\n"));
  return 0;
}
