import { join } from "node:path";
import { type Client, credentials, loadPackageDefinition, type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import type { CallContext } from "../../src/rpc/index.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

interface Answer {
  readonly error: ServiceError | null;
  readonly name: string | undefined;
  readonly header: Metadata | undefined;
}

/** Asks for the default branch as a program would that knows nothing but gRPC and the .proto files. */
async function askPlainly(address: string, relativePath: string): Promise<Answer> {
  const definition = loadSync("ref.proto", { includeDirs: [join(import.meta.dirname, "../../proto")] });
  type RefClient = Client &
    Record<
      "findDefaultBranchName",
      (request: object, done: (error: ServiceError | null, value?: { name: Buffer }) => void) => NodeJS.EventEmitter
    >;
  const { gitaly } = loadPackageDefinition(definition) as unknown as { gitaly: { RefService: new (...args: unknown[]) => RefClient } };
  const client = new gitaly.RefService(address, credentials.createInsecure());
  try {
    return await new Promise<Answer>((resolve) => {
      let header: Metadata | undefined;
      const request = { repository: { storageName: "default", relativePath } };
      client
        .findDefaultBranchName(request, (error, value) => resolve({ error, name: value?.name.toString(), header }))
        .on("metadata", (metadata: Metadata) => {
          header = metadata;
        });
    });
  } finally {
    client.close();
  }
}

test("a client that does not know redirects is served by whichever node it asks", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const path = cluster.pathOwnedBy("n2");
  for (const { name, address } of cluster.nodes) {
    const answer = await askPlainly(address, path);
    expect(answer.name).toBe(name);
    expect(answer.header?.get("gitaly-node")).toEqual([name]);
  }
});

test("where such clients are refused, the status names the owners", async () => {
  await using cluster = await startRpcNodes(2, toyServices, { rpc: { unawareClients: "refuse" } });
  const [n1, n2] = cluster.nodes;
  const { error } = await askPlainly(n1?.address ?? "", cluster.pathOwnedBy("n2"));
  expect(error?.code).toBe(status.FAILED_PRECONDITION);
  expect(error?.details).toContain(`ask n2 (grpc://${n2?.address})`);
  expect(error?.metadata.get("gitaly-node")).toEqual(["n1"]);
});

test("a call that comes without a deadline gets the server's", async () => {
  const reasons: unknown[] = [];
  await using cluster = await startRpcNodes(
    1,
    () => ({
      "gitaly.RefService": {
        FindDefaultBranchName: (_request: never, call: CallContext) =>
          new Promise<object>((_resolve, reject) => {
            call.signal.addEventListener("abort", () => {
              reasons.push(call.signal.reason);
              reject(call.signal.reason);
            });
          }),
      },
    }),
    { rpc: { unaryDeadlineMs: 100 } },
  );
  const { error } = await askPlainly(cluster.nodes[0]?.address ?? "", "a.git");
  expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
  await expect.poll(() => reasons).toMatchObject([{ code: "deadline_exceeded" }]);
});
