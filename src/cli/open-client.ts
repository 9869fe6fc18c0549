import { GitalyClient } from "../client/index.ts";
import type { CliClient } from "./client.ts";

/** A client for the node at `grpc://HOST:PORT`, over the network. */
export function openClient(address: string): CliClient {
  return new GitalyClient({ addresses: [address] });
}
