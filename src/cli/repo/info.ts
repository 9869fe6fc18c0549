import { CodedError } from "../../base/index.ts";
import type { CliContext } from "../context.ts";
import { formatBytes, formatJson, formatPairs } from "../output.ts";
import { repositoryArgument } from "../repository-argument.ts";
import { type AddrOptions, withClient } from "../with-client.ts";
import { shownRepository } from "./repository-info.ts";

/** Prints what the cluster knows of one repository. */
export async function runRepoInfo(path: string, options: AddrOptions, context: CliContext): Promise<number> {
  const repository = repositoryArgument(path);
  const { repository: info } = await withClient(options, context, (client, signal) =>
    client.cluster.getRepository({ repository }, { signal }),
  );
  if (!info) throw new CodedError("protocol_error", "the node's answer names no repository", { relativePath: path });
  const shown = shownRepository(info);
  if (options.json) context.io.stdout(formatJson(shown));
  else {
    const pairs: [string, string | number][] = [
      ["path", shown.relative_path],
      ["id", shown.id],
      ["object format", shown.object_format],
      ["default branch", shown.default_branch],
      ["generation", shown.generation],
      ["replicas", shown.replicas],
      ["size", formatBytes(shown.size_bytes)],
      ["refs", shown.refs],
      ["packs", shown.packs],
    ];
    context.io.stdout(formatPairs(pairs));
  }
  return 0;
}
