import { Command, type OutputConfiguration } from "commander";
import { packageVersion } from "../base/index.ts";
import { addCatalogCommand } from "./catalog/options.ts";
import { addCheckCommand } from "./check/options.ts";
import { addConfigCommand } from "./config/options.ts";
import type { Submit } from "./context.ts";
import { addDbCommand } from "./db/options.ts";
import { addKeygenCommand } from "./keygen/options.ts";
import { addMembersCommand } from "./members/options.ts";
import { addRepoCommand } from "./repo/options.ts";
import { addRouteCommand } from "./route/options.ts";
import { addServeCommand } from "./serve/options.ts";
import { addStatusCommand } from "./status/options.ts";

/** All commands with their options. Parsing throws commander's errors; the action of the named command goes to `submit`. */
export function createProgram(submit: Submit, output: OutputConfiguration): Command {
  const program = new Command("gitaly")
    .description("A cluster of equal nodes that serves Git repositories from object storage")
    .version(packageVersion, "--version", "print the version")
    .helpOption("-h, --help", "print help")
    .exitOverride()
    .configureOutput({ ...output, outputError: () => {} });
  addServeCommand(program, submit);
  addMembersCommand(program, submit);
  addRouteCommand(program, submit);
  addStatusCommand(program, submit);
  addRepoCommand(program, submit);
  addCatalogCommand(program, submit);
  addDbCommand(program, submit);
  addCheckCommand(program, submit);
  addConfigCommand(program, submit);
  addKeygenCommand(program, submit);
  return program;
}
