import type { Command } from "commander";
import { addAddrOptions } from "../addr-options.ts";
import type { Submit } from "../context.ts";
import type { AddrOptions } from "../with-client.ts";
import { runStatus } from "./handler.ts";

/** `gitaly status` */
export function addStatusCommand(parent: Command, submit: Submit): void {
  addAddrOptions(parent.command("status"))
    .description("Show the state of one node and what is wrong with it")
    .action((options: AddrOptions) => submit((context) => runStatus(options, context)));
}
