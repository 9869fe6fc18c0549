import { CommanderError } from "commander";
import { CodedError, neverAborted, systemRandom } from "../base/index.ts";
import type { Action, CliConfig, CliDeps, CliIo, Submit } from "./context.ts";
import { hookRunner } from "./db/run-hook.ts";
import { explainError, UsageError } from "./errors.ts";
import { openClient } from "./open-client.ts";
import { createProgram } from "./program.ts";

/**
 * Runs one command line (without node and script) and resolves with the exit code: 0 done, 1 failed, 2 bad usage or
 * configuration. Never rejects; errors are printed as lines.
 */
export async function runCli<C extends CliConfig>(argv: readonly string[], io: CliIo, deps: CliDeps<C>): Promise<number> {
  let addr: string | undefined;
  try {
    const parsed = parse(argv, io);
    if (typeof parsed === "number") return parsed;
    addr = parsed.addr;
    // The commands only hand the configuration from one of these functions to another.
    const erased = deps as unknown as CliDeps;
    const defaults = { connect: openClient, random: systemRandom, runHook: hookRunner(deps.clock) };
    return await parsed.action({ io, deps: { ...defaults, ...erased }, signal: neverAborted });
  } catch (error) {
    const { lines, exitCode } = explainError(error, addr);
    for (const line of lines) io.stderr(`${line}\n`);
    return exitCode;
  }
}

/** The action of the named command, or the exit code where help or the version was printed. */
function parse(argv: readonly string[], io: CliIo): { action: Action; addr: string | undefined } | number {
  let action: Action | undefined;
  let addr: string | undefined;
  const submit: Submit = (submitted) => {
    action = submitted;
  };
  const program = createProgram(submit, { writeOut: io.stdout, writeErr: io.stderr }).hook("preAction", (_, named) => {
    addr = named.opts<{ addr?: string }>().addr;
  });
  try {
    program.parse(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (error.code === "commander.help") return 2;
    const [message = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
    const suggestion = rest.join(" ").replace(/^\(|\)$/g, "");
    throw new UsageError(
      message,
      [suggestion, "gitaly --help, or gitaly COMMAND --help, tells more"].filter((part) => part !== "").join(" "),
    );
  }
  if (!action) throw new CodedError("internal", "the command has no action");
  return { action, addr };
}
