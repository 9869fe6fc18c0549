import { writeFileAtomic } from "./atomic-file.ts";

/** Tells scripts that the node serves, and where. */
export function writeReadyFile(file: string, facts: { node: string; grpc: string; http: string; gossip: string }): void {
  const { node, grpc, http, gossip } = facts;
  writeFileAtomic(file, `${JSON.stringify({ node, pid: process.pid, grpc, http, gossip })}\n`, 0o644);
}
