import { CodedError, errnoOf } from "../base/index.ts";
import { writeFileAtomic } from "./atomic-file.ts";

/** Tells scripts that the node serves, and where. Errors: `failed_precondition` where the file cannot be written. */
export function writeReadyFile(file: string, facts: { node: string; grpc: string; http: string; gossip: string }): void {
  const { node, grpc, http, gossip } = facts;
  try {
    writeFileAtomic(file, `${JSON.stringify({ node, pid: process.pid, grpc, http, gossip })}\n`, 0o644);
  } catch (error) {
    throw new CodedError("failed_precondition", "the ready file cannot be written", { file, errno: errnoOf(error) }, { cause: error });
  }
}
