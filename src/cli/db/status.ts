import { splitHostPort } from "../../base/index.ts";
import type { DatabaseServer__Output } from "../../proto/gen/gitaly_gossip/v1/DatabaseServer.ts";
import type { CliContext } from "../context.ts";
import { formatBytes, formatJson, formatSeconds, formatTable } from "../output.ts";
import { type AddrOptions, withClient } from "../with-client.ts";

/** Prints the database's servers as the asked node judges them; 1 where none of them is the primary. */
export async function runDbStatus(options: AddrOptions, context: CliContext): Promise<number> {
  const { servers, discoveryAgeSeconds: age } = await withClient(options, context, (client, signal) =>
    client.cluster.databaseStatus({}, { signal }),
  );
  const primary = servers.find(({ role }) => role === "primary");
  const others = servers.filter((server) => server !== primary);
  const { io } = context;
  if (options.json) {
    const shown = { primary: primary ? shape(primary) : null, replicas: others.map(shape), discovery_age_seconds: age ?? null };
    io.stdout(formatJson(shown));
  } else {
    io.stdout(formatTable(["SERVER", "ROLE", "USABLE", "REASON", "BEHIND", "AGE", "POSITION"], servers.map(row)));
    if (age !== undefined) io.stdout(`\nlist of servers: ${formatSeconds(age)} old\n`);
  }
  return primary ? 0 : 1;
}

function shape(server: DatabaseServer__Output) {
  const { host, port } = splitHostPort(server.host) ?? { host: server.host, port: 0 };
  return {
    host,
    port,
    role: server.role,
    usable: server.usable,
    reason: server.reason,
    lag_bytes: server.lagBytes === undefined ? null : Number(server.lagBytes),
    lag_seconds: server.lagSeconds ?? null,
    position: server.position === "" ? null : server.position,
    in_recovery: server.inRecovery ?? null,
    read_only: server.readOnly ?? null,
  };
}

function row(server: DatabaseServer__Output): string[] {
  const { host, role, usable, reason, lagBytes, lagSeconds, position } = server;
  const age = lagSeconds === undefined ? "" : formatSeconds(lagSeconds);
  return [host, role, usable ? "yes" : "no", reason, lagBytes === undefined ? "" : formatBytes(Number(lagBytes)), age, position];
}
