import type { CliContext } from "../context.ts";
import { askFingerprints } from "../fingerprints.ts";
import { formatJson, formatTable, plain } from "../output.ts";
import { repositoryArgument } from "../repository-argument.ts";
import { type AddrOptions, withClient } from "../with-client.ts";

/** Prints the owners of a repository in order, and the fingerprint of every node's view of the ring. */
export async function runRoute(repo: string, options: AddrOptions, context: CliContext): Promise<number> {
  const repository = repositoryArgument(repo);
  const { route, views } = await withClient(options, context, async (client, signal) => {
    const [route, { members }] = await Promise.all([
      client.cluster.route({ repository }, { signal }),
      client.cluster.listMembers({}, { signal }),
    ]);
    const present = members.filter((member) => member.status !== "left");
    return { route, views: await askFingerprints(present, context, signal) };
  });
  const { stdout } = context.io;
  if (options.json) {
    const owners = route.owners.map(({ name, grpcAddress, httpUrl }) => ({ name, grpc: grpcAddress, http: httpUrl }));
    const { replicas, ringFingerprint } = route;
    stdout(formatJson({ repository: repo, replicas, owners, fingerprint: ringFingerprint, views: Object.fromEntries(views) }));
    return 0;
  }
  stdout(
    `${plain(repo)}: repository hash ${plain(route.repositoryHash)}, ${route.replicas} to own it, ring ${plain(route.ringFingerprint)}\n\n`,
  );
  const owners = route.owners.map((owner) => [
    owner.name,
    owner.grpcAddress,
    owner.httpUrl,
    owner.zone,
    owner.weight,
    owner.siteHash,
    owner.cost.toPrecision(8),
  ]);
  stdout(formatTable(["OWNER", "GRPC", "HTTP", "ZONE", "WEIGHT", "SITE HASH", "COST"], owners));
  stdout("\n");
  stdout(
    formatTable(
      ["NODE", "ITS RING"],
      [...views].map(([name, fingerprint]) => [name, fingerprint ?? "no answer"]),
    ),
  );
  if (new Set([...views.values(), route.ringFingerprint].filter((view) => view !== null)).size > 1)
    stdout("\nthe nodes do not see the same ring yet\n");
  return 0;
}
