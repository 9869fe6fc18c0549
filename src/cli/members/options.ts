import type { Command } from "commander";
import { addAddrOptions } from "../addr-options.ts";
import type { Submit } from "../context.ts";
import type { AddrOptions } from "../with-client.ts";
import { runMembers } from "./handler.ts";

/** `gitaly members` */
export function addMembersCommand(parent: Command, submit: Submit): void {
  addAddrOptions(parent.command("members"))
    .description("List the members of the cluster")
    .action((options: AddrOptions) => submit((context) => runMembers(options, context)));
}
