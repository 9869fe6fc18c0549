import type { CliContext } from "../context.ts";
import { formatBytes, formatJson, formatPairs, formatSeconds, plain } from "../output.ts";
import { type AddrOptions, withClient } from "../with-client.ts";

/** Prints the state of the asked node. */
export async function runStatus(options: AddrOptions, context: CliContext): Promise<number> {
  const status = await withClient(options, context, (client, signal) => client.cluster.status({}, { signal }));
  const shown = {
    node: status.node,
    cluster_id: status.clusterId,
    state: status.state,
    version: status.version,
    git_version: status.gitVersion,
    uptime_seconds: Number(status.uptimeSeconds),
    fingerprint: status.ringFingerprint,
    members: status.memberCount,
    sites: status.siteCount,
    object_storage: status.objectStorage,
    database: status.database,
    cache_bytes: Number(status.cacheBytes),
    checks: status.checks.map(({ name, ok, message }) => ({ name, ok, message })),
  };
  if (options.json) {
    context.io.stdout(formatJson(shown));
    return 0;
  }
  const pairs: [string, string | number][] = [
    ["node", shown.node],
    ["state", shown.state],
    ["cluster", shown.cluster_id],
    ["version", `${shown.version}, git ${shown.git_version}`],
    ["up", formatSeconds(shown.uptime_seconds)],
    ["ring", `${shown.fingerprint}, ${shown.sites} of ${shown.members} members ready`],
    ["object store", shown.object_storage],
    ["database", shown.database],
    ["cache", formatBytes(shown.cache_bytes)],
  ];
  context.io.stdout(formatPairs(pairs));
  if (shown.checks.length > 0) context.io.stdout("\n");
  for (const { name, ok, message } of shown.checks) {
    context.io.stdout(`${ok ? "ok  " : "FAIL"}  ${plain(name)}${message === "" ? "" : `: ${plain(message)}`}\n`);
  }
  return 0;
}
