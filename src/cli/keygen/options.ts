import { type Command, Option } from "commander";
import type { Submit } from "../context.ts";
import { type KeygenOptions, runKeygen } from "./handler.ts";

/** `gitaly keygen` */
export function addKeygenCommand(parent: Command, submit: Submit): void {
  parent
    .command("keygen")
    .description("Print a new key for cluster.encryption_keys, in base64")
    .addOption(new Option("--bytes <count>", "length of the key: AES-128, AES-192 or AES-256").choices(["16", "24", "32"]).default("32"))
    .action((options: KeygenOptions) => submit((context) => runKeygen(options, context)));
}
