import type { CliServer } from "../context.ts";
import { formatPairs, plain } from "../output.ts";

const defaultGrpcPort = "8075";

/** The lines that a person needs once the node is ready. `advertiseHost` is the host that others are told, if one was set. */
export function readyBanner(info: CliServer["info"], advertiseHost: string | undefined): string {
  const grpc = `http://${reachable(info.grpc, advertiseHost)}`;
  const http = `http://${reachable(info.http, advertiseHost)}`;
  const addr = portOf(info.grpc) === defaultGrpcPort && advertiseHost === undefined ? "" : ` --addr ${grpc}`;
  return [
    `gitaly ${plain(info.version)}: node ${plain(info.node)} is ready\n\n`,
    formatPairs([
      ["data dir", info.dataDir],
      ["gRPC", info.grpc],
      ["HTTP", info.http],
      ["gossip", info.gossip],
    ]),
    "\n",
    formatPairs([
      ["create a repository", `npx gitaly repo create demo/app.git${addr}`],
      ["push to it", `git push ${http}/demo/app.git main`],
      ["add a node", `npx gitaly serve --join-addr ${grpc}`],
      ["stop", "Ctrl-C, or SIGTERM; a second one stops at once"],
    ]),
  ].join("");
}

/** HOST:PORT for a command line: a listener on every interface is reached by the advertised host, or on this machine. */
function reachable(address: string, advertiseHost: string | undefined): string {
  const host = address.slice(0, address.lastIndexOf(":"));
  const isWildcard = host === "0.0.0.0" || host === "[::]" || host === "";
  const chosen = advertiseHost ?? (isWildcard ? "127.0.0.1" : host);
  return `${chosen.includes(":") && !chosen.startsWith("[") ? `[${chosen}]` : chosen}:${portOf(address)}`;
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}
