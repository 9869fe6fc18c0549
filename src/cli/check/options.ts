import type { Command } from "commander";
import { addConfigOptions } from "../config-options.ts";
import type { Submit } from "../context.ts";
import { type CheckOptions, runCheck } from "./handler.ts";

/** `gitaly check` */
export function addCheckCommand(parent: Command, submit: Submit): void {
  addConfigOptions(parent.command("check"))
    .description("Check configuration, git, object store and database without starting a node")
    .option("--json", "print JSON")
    .action((options: CheckOptions) => submit((context) => runCheck(options, context)));
}
