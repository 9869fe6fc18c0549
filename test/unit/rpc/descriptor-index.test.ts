import { expect, test } from "vitest";
import { readDescriptorSet } from "../../../src/proto/index.ts";
import { DescriptorIndex } from "../../../src/rpc/reflection/descriptor-index.ts";

const index = new DescriptorIndex(readDescriptorSet());

test.each([
  ["gitaly.Repository", "shared.proto"],
  ["gitaly.Repository.relative_path", "shared.proto"],
  ["gitaly.RefService.ListRefs", "ref.proto"],
  ["gitaly.ListRefsRequest.SortBy.Key", "ref.proto"],
  ["gitaly.ListRefsRequest.SortBy.REFNAME", "ref.proto"],
  ["gitaly.ReadinessCheckResponse.Result", "server.proto"],
  ["gitaly.target_repository", "shared.proto"],
  ["grpc.health.v1.Health", "grpc/health/v1/health.proto"],
])("%s is declared in %s", (symbol, file) => {
  expect(index.fileOfSymbol(symbol)?.name).toBe(file);
});

test("a file comes with everything it imports, itself first, each once", () => {
  const file = index.file("ref.proto");
  const names = file ? index.withImports(file).map(({ name }) => name) : [];
  expect(names[0]).toBe("ref.proto");
  expect(new Set(names)).toEqual(
    new Set(["ref.proto", "shared.proto", "google/protobuf/descriptor.proto", "google/protobuf/timestamp.proto"]),
  );
  expect(names).toHaveLength(4);
});

test("bytes that are no descriptor set are refused", () => {
  expect(() => new DescriptorIndex(Buffer.from("nonsense"))).toThrow(TypeError);
});
