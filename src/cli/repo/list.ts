import type { CliContext } from "../context.ts";
import { formatBytes, formatJson, formatTable } from "../output.ts";
import { type AddrOptions, withClient } from "../with-client.ts";
import { type ShownRepository, shownRepository } from "./repository-info.ts";

/** Options of `repo list`. */
export interface ListOptions extends AddrOptions {
  readonly prefix?: string;
}

/** Prints the repositories of the cluster in byte order of their paths. */
export async function runRepoList(options: ListOptions, context: CliContext): Promise<number> {
  const rows = await withClient(options, context, async (client, signal) => {
    const found: ShownRepository[] = [];
    for await (const { repositories } of client.cluster.listRepositories({ prefix: options.prefix ?? "" }, { signal })) {
      found.push(...repositories.map(shownRepository));
    }
    return found;
  });
  if (options.json) context.io.stdout(formatJson(rows));
  else if (rows.length === 0) context.io.stdout("no repositories\n");
  else {
    const cells = rows.map((row) => [
      row.relative_path,
      row.object_format,
      row.default_branch,
      row.generation,
      formatBytes(row.size_bytes),
      row.refs,
      row.packs,
    ]);
    context.io.stdout(formatTable(["PATH", "FORMAT", "BRANCH", "GENERATION", "SIZE", "REFS", "PACKS"], cells));
  }
  return 0;
}
