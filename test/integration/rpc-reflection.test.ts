import { type Client, credentials, loadPackageDefinition } from "@grpc/grpc-js";
import type { ServiceDefinition } from "@grpc/proto-loader";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import type { ServerReflectionResponse__Output } from "../../src/proto/gen/grpc/reflection/v1/ServerReflectionResponse.ts";
import { grpcObject } from "../../src/proto/index.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

type ReflectionClient = Client & {
  serverReflectionInfo(): import("@grpc/grpc-js").ClientDuplexStream<object, ServerReflectionResponse__Output>;
};
type Versions = Record<"v1" | "v1alpha", { ServerReflection: new (...args: unknown[]) => ReflectionClient }>;

async function ask(
  address: string,
  requests: readonly object[],
  version: "v1" | "v1alpha" = "v1",
): Promise<ServerReflectionResponse__Output[]> {
  const { reflection } = grpcObject["grpc"] as unknown as { reflection: Versions };
  const client = new reflection[version].ServerReflection(address, credentials.createInsecure());
  const call = client.serverReflectionInfo();
  for (const request of requests) call.write(request);
  call.end();
  const answers: ServerReflectionResponse__Output[] = [];
  for await (const answer of call) answers.push(answer);
  client.close();
  return answers;
}

/** Field 1 of a FileDescriptorSet, once for each file. */
function descriptorSet(files: readonly Buffer[]): Buffer {
  const parts = files.flatMap((file) => {
    const length: number[] = [];
    for (let rest = file.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    return [Buffer.from([10, ...length]), file];
  });
  return Buffer.concat(parts);
}

test.each(["v1", "v1alpha"] as const)(
  "reflection %s lists the services, and describes them so that a client can be built",
  async (version) => {
    await using cluster = await startRpcNodes(1, toyServices);
    const address = cluster.nodes[0]?.address ?? "";
    const [list, described] = await ask(address, [{ listServices: "" }, { fileContainingSymbol: "gitaly.SmartHTTPService" }], version);
    expect(list?.listServicesResponse?.service.map(({ name }) => name)).toEqual([
      "gitaly.RefService",
      "gitaly.RepositoryService",
      "gitaly.ServerService",
      "gitaly.SmartHTTPService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
    const files = described?.fileDescriptorResponse?.fileDescriptorProto ?? [];
    const definition = loadFileDescriptorSetFromBuffer(descriptorSet(files));
    expect(Object.keys(definition["gitaly.SmartHTTPService"] as ServiceDefinition)).toContain("PostUploadPack");
    expect(loadPackageDefinition(definition)["gitaly"]).toHaveProperty("SmartHTTPService");
  },
);

test("reflection finds files by name, nested symbols, methods and extensions, and says so where there is nothing", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  const answers = await ask(cluster.nodes[0]?.address ?? "", [
    { fileByFilename: "google/rpc/status.proto" },
    { fileContainingSymbol: "gitaly.ListRefsResponse.Reference" },
    { fileContainingSymbol: "gitaly.RefService.ListRefs" },
    { fileContainingExtension: { containingType: "google.protobuf.FieldOptions", extensionNumber: 91235 } },
    { allExtensionNumbersOfType: "google.protobuf.MethodOptions" },
    { allExtensionNumbersOfType: "gitaly.Repository" },
    { fileContainingSymbol: "no.such.Symbol" },
    { fileByFilename: "no/such/file.proto" },
    { allExtensionNumbersOfType: "no.such.Message" },
    { fileContainingSymbol: "x".repeat(5000) },
    {},
  ]);
  const files = answers.map((answer) => answer.fileDescriptorResponse?.fileDescriptorProto.length);
  expect(files.slice(0, 4)).toEqual([2, expect.any(Number), 1, expect.any(Number)]);
  expect(answers[4]?.allExtensionNumbersResponse?.extensionNumber).toEqual([82303]);
  expect(answers[5]?.allExtensionNumbersResponse?.extensionNumber).toEqual([]);
  expect(answers.slice(6).map((answer) => answer.errorResponse?.errorCode)).toEqual([5, 5, 5, 3, 3]);
});
