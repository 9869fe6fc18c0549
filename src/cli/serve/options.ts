import type { Command } from "commander";
import { addConfigOptions } from "../config-options.ts";
import type { Submit } from "../context.ts";
import { runServe } from "./handler.ts";

/** `gitaly serve` */
export function addServeCommand(parent: Command, submit: Submit): void {
  addConfigOptions(parent.command("serve"))
    .description("Run a node until SIGTERM or SIGINT")
    .action((options: Record<string, unknown>) => submit((context) => runServe(options, context)));
}
