import type { Command } from "commander";

/** The options of every command that asks a node. */
export function addAddrOptions(command: Command): Command {
  return command
    .option("--addr <url>", "the node to ask, http://HOST[:PORT]", "http://127.0.0.1:8075")
    .option("--token-file <file>", "file with the token of the cluster (not built yet)")
    .option("--json", "print JSON");
}
