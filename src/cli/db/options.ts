import type { Command } from "commander";
import { addAddrOptions } from "../addr-options.ts";
import { addDatabaseOptions } from "../config-options.ts";
import type { Submit } from "../context.ts";
import type { AddrOptions } from "../with-client.ts";
import { runDbStatus } from "./status.ts";
import { runDbWatch, type WatchOptions } from "./watch.ts";

/** `gitaly db …` */
export function addDbCommand(parent: Command, submit: Submit): void {
  const db = parent.command("db").description("Look at the database's servers");
  addAddrOptions(db.command("status"))
    .description("Show the database's servers as one node judges them: roles, lag, and why one is not used")
    .action((options: AddrOptions) => submit((context) => runDbStatus(options, context)));
  addDatabaseOptions(db.command("watch"))
    .description("Run a command whenever another database server has become the primary, and once at the start")
    .requiredOption(
      "--on-change <command>",
      "run by /bin/sh with DBLB_PRIMARY (HOST:PORT), DBLB_PRIMARY_HOST, DBLB_PRIMARY_PORT and DBLB_PREVIOUS_PRIMARY in its environment",
    )
    .option("--once", "end after the first run that succeeds; fail after three that do not, or if there is no primary within a minute")
    .action((options: WatchOptions) => submit((context) => runDbWatch(options, context)));
}
