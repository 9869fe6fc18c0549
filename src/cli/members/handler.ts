import type { CliContext } from "../context.ts";
import { askFingerprints } from "../fingerprints.ts";
import { formatJson, formatTable } from "../output.ts";
import { type AddrOptions, withClient } from "../with-client.ts";

/** Prints every member that the asked node knows of, with the fingerprint of the ring that each of them sees. */
export async function runMembers(options: AddrOptions, context: CliContext): Promise<number> {
  const rows = await withClient(options, context, async (client, signal) => {
    const { members } = await client.cluster.listMembers({}, { signal });
    const fingerprints = await askFingerprints(members, context, signal);
    return members.map((member) => ({
      name: member.name,
      status: member.status,
      grpc: member.grpcAddress,
      http: member.httpUrl,
      gossip: member.gossipAddress,
      weight: member.weight,
      zone: member.zone,
      version: member.version,
      fingerprint: fingerprints.get(member.name) ?? null,
    }));
  });
  if (options.json) context.io.stdout(formatJson(rows));
  else {
    const header = ["NAME", "STATUS", "GRPC", "HTTP", "GOSSIP", "WEIGHT", "ZONE", "VERSION", "FINGERPRINT"];
    context.io.stdout(
      formatTable(
        header,
        rows.map((row) => Object.values(row).map((cell) => cell ?? "")),
      ),
    );
  }
  return 0;
}
