import type { Command } from "commander";
import { addStoreOptions } from "../config-options.ts";
import type { Submit } from "../context.ts";
import { type RebuildOptions, runCatalogRebuild } from "./rebuild.ts";

/** `gitaly catalog rebuild` */
export function addCatalogCommand(parent: Command, submit: Submit): void {
  const catalog = parent.command("catalog").description("Look after the catalog, the database's list of repositories");
  addStoreOptions(catalog.command("rebuild"))
    .description("Make the catalog what the object store says: add, correct and remove what differs. Nodes may run meanwhile")
    .option("--dry-run", "show what would be done, and write nothing")
    .option("--take-over", "also where the database lists the repositories of another cluster, whose list is then replaced")
    .option("--json", "print JSON")
    .action((options: RebuildOptions) => submit((context) => runCatalogRebuild(options, context)));
}
