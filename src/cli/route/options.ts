import type { Command } from "commander";
import { addAddrOptions } from "../addr-options.ts";
import type { Submit } from "../context.ts";
import type { AddrOptions } from "../with-client.ts";
import { runRoute } from "./handler.ts";

/** `gitaly route REPO` */
export function addRouteCommand(parent: Command, submit: Submit): void {
  addAddrOptions(parent.command("route"))
    .description("Show which nodes own a repository, and whether all nodes agree")
    .argument("<repo>", "path of the repository, for example demo/app.git")
    .action((repo: string, options: AddrOptions) => submit((context) => runRoute(repo, options, context)));
}
