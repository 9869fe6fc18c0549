import type { Command } from "commander";
import { addConfigOptions } from "../config-options.ts";
import type { Submit } from "../context.ts";
import { runConfigShow, type ShowOptions } from "./handler.ts";

/** `gitaly config show` */
export function addConfigCommand(parent: Command, submit: Submit): void {
  const config = parent.command("config").description("Inspect the configuration");
  addConfigOptions(config.command("show"))
    .description("Print the merged configuration and where each value came from")
    .option("--json", "print JSON")
    .action((options: ShowOptions) => submit((context) => runConfigShow(options, context)));
}
