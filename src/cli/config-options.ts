import type { Command } from "commander";
import type { CliConfigInput, CliContext, Flags } from "./context.ts";

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** The flags that set the configuration; the commands that run or show one share them. */
export function addConfigOptions(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (TOML)")
    .option("--join-addr <url>", "a member to join through, http://HOST[:PORT]; can be given more than once", collect)
    .option("--node-name <name>", "name of the node in the cluster (default: hostname:port)")
    .option("--data-dir <dir>", "directory of all that the node keeps (default: ~/.local/share/gitaly)")
    .option("--listen-addr <host:port>", "where gRPC listens (default: 127.0.0.1:8075)")
    .option("--http-addr <host:port>", "where git over HTTP listens (default: 127.0.0.1:8076)")
    .option("--gossip-addr <host:port>", "where gossip listens (default: 127.0.0.1:7946)")
    .option("--advertise-host <host>", "host that other nodes and clients are told")
    .option("--advertise-http <url>", "URL that git clients are redirected to")
    .option("--object-storage <url>", "file:///DIR or s3://BUCKET/PREFIX (default: embedded)")
    .option("--database <url>", "PostgreSQL, the primary first, then replicas (default: embedded)", collect)
    .option("--token-file <file>", "file with the token of the cluster (not built yet)")
    .option("--ready-file <file>", "file that is written once the node can serve")
    .option("--insecure", "allow listeners beyond loopback although nothing guards them yet");
}

/** The flags that say where the database is, for commands that look at nothing else. */
export function addDatabaseOptions(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (TOML), for its [database]")
    .option("--database <url>", "PostgreSQL, the primary first, then replicas; in any order once they have answered", collect);
}

/** The flags that say where the object store and the database are, for commands that work without a node. */
export function addStoreOptions(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (TOML), for its [object_storage] and [database]")
    .option("--data-dir <dir>", "directory of a node, for what is embedded there (default: ~/.local/share/gitaly)")
    .option("--object-storage <url>", "file:///DIR or s3://BUCKET/PREFIX (default: embedded)")
    .option("--database <url>", "PostgreSQL, the primary first, then replicas (default: embedded)", collect);
}

/** What the configuration is loaded from, given the parsed options. */
export function configInput(options: Readonly<Record<string, unknown>>, { io }: CliContext): CliConfigInput {
  const flags = Object.entries(options).map(([name, value]) => [name.replace(/[A-Z]/g, (char) => `-${char.toLowerCase()}`), value]);
  return { flags: Object.fromEntries(flags) as Flags, env: io.env, readFile: io.readFile, cwd: io.cwd };
}
