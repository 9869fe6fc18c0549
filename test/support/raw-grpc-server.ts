import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type { ServiceDefinition } from "@grpc/proto-loader";
import { messageCodec, packageDefinition } from "../../src/proto/index.ts";

/** A peer that is not ours, for what ours never do. */
export interface RawServer extends AsyncDisposable {
  readonly address: string;
  /** Cuts every connection. */
  kill(): void;
}

/** Serves hand-written grpc-js implementations of whole services. */
export async function startRawServer(services: Readonly<Record<string, Record<string, unknown>>>): Promise<RawServer> {
  const server = new Server();
  for (const [name, implementation] of Object.entries(services)) {
    server.addService(packageDefinition[name] as ServiceDefinition, implementation as never);
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return {
    address: `127.0.0.1:${port}`,
    kill: () => server.forceShutdown(),
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

/** The trailers of a redirect to these owners. */
function redirectTrailers(owners: readonly { node: string; address: string }[], node?: string): Metadata {
  const value = messageCodec<object, object>("gitaly_gossip.v1.RedirectError").encode({ owners, ringFingerprint: "0123456789abcdef" });
  const details = [{ type_url: "type.googleapis.com/gitaly_gossip.v1.RedirectError", value }];
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", messageCodec("google.rpc.Status").encode({ code: status.FAILED_PRECONDITION, details }));
  if (node !== undefined) metadata.set("gitaly-node", node);
  return metadata;
}

/** A unary implementation that always redirects. */
export function redirectUnary(owners: () => readonly { node: string; address: string }[], node?: string) {
  return (_call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>): void => {
    callback({ code: status.FAILED_PRECONDITION, details: "elsewhere", metadata: redirectTrailers(owners(), node) });
  };
}

/** A bidirectional implementation, typed for tests. */
export type RawBidi = (call: ServerDuplexStream<{ data: Buffer }, { data: Buffer }>) => void;
