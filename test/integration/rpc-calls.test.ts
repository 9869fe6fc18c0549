import { credentials, type ServiceError, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { createMetrics, type LogFields, type Logger, silentLogger } from "../../src/observability/index.ts";
import type { RefServiceClient } from "../../src/proto/gen/gitaly/RefService.ts";
import type { ProtoGrpcType } from "../../src/proto/gen/smarthttp.ts";
import { grpcObject } from "../../src/proto/index.ts";
import type { CallContext } from "../../src/rpc/index.ts";
import { deferred } from "../support/deferred.ts";
import { failureOf } from "../support/failure-of.ts";
import { readAll } from "../support/read-all.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repository = { storageName: "default", relativePath: "group/project.git" };

test("a call without a repository, or with a bad one, is refused before its handler", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const cases: [object, string][] = [
    [{}, "repository not set"],
    [{ repository: {} }, "repository not set"],
    [{ repository: { relativePath: "a.git" } }, "storage name not set"],
    [{ repository: { storageName: "other", relativePath: "a.git" } }, "storage name not found"],
    [{ repository: { storageName: "default" } }, "repository path not set"],
    [{ repository: { storageName: "default", relativePath: "../a.git" } }, "relative path escapes root directory"],
  ];
  for (const [request, message] of cases) {
    const error = await failureOf(client.ref.findDefaultBranchName(request));
    expect([error.fields["grpcCode"], error.message]).toEqual([status.INVALID_ARGUMENT, message]);
  }
  const body = async function* () {
    yield { data: Buffer.from("pack") };
  };
  expect((await failureOf(readAll(client.smartHttp.postUploadPack(body())))).message).toBe("repository not set");
  const metadata = { "gitaly-replicas": "none" };
  expect((await failureOf(client.ref.findDefaultBranchName({ repository }, { metadata }))).code).toBe("invalid_argument");
  expect(cluster.nodes[0]?.handled).toEqual([]);
});

test("errors keep their code, delay and details, and unknown ones tell nothing", async () => {
  const errors: unknown[] = [
    new CodedError("limit_exceeded", "too much", {}, { retryAfterMs: 2500 }),
    new CodedError("store_unavailable", "store is away", {}, { retryAfterMs: 700 }),
    new TypeError("secret /home/user/file"),
    new CodedError("not_found", "그룹é\ud800\nx".repeat(1000)),
  ];
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      FindDefaultBranchName: async () => {
        throw errors.shift();
      },
    },
  }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const call = () => failureOf(client.ref.findDefaultBranchName({ repository }));
  const limited = await call();
  expect([limited.code, limited.message, limited.retryAfterMs]).toEqual(["limit_exceeded", "too much", 2500]);
  expect(limited.fields["details"]).toMatchObject([{ type: "gitaly.LimitError", value: { errorMessage: "too much" } }]);
  const away = await call();
  expect([away.fields["grpcCode"], away.retryAfterMs]).toEqual([status.UNAVAILABLE, 700]);
  const unknown = await call();
  expect(unknown.fields["grpcCode"]).toBe(status.INTERNAL);
  expect(unknown.message).toMatch(/^internal error, correlation id [0-9a-f]{32}$/);
  const long = await call();
  expect(long.fields["grpcCode"]).toBe(status.NOT_FOUND);
  expect(long.message.startsWith("그룹é")).toBe(true);
});

test("a handler's signal aborts when the client cancels and when the deadline passes", async () => {
  const reasons: string[] = [];
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      FindDefaultBranchName: (_request: never, call: CallContext) =>
        new Promise<object>((_resolve, reject) => {
          call.signal.addEventListener("abort", () => {
            reasons.push((call.signal.reason as CodedError).code);
            reject(call.signal.reason);
          });
        }),
    },
  }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const abort = new AbortController();
  const cancelled = client.ref.findDefaultBranchName({ repository }, { signal: abort.signal, onHeader: () => abort.abort() });
  expect((await failureOf(cancelled)).code).toBe("cancelled");
  await expect.poll(() => reasons).toEqual(["cancelled"]);
  expect((await failureOf(client.ref.findDefaultBranchName({ repository }, { deadlineMs: 100 }))).code).toBe("deadline_exceeded");
  // Which end sees the deadline first is up to the network.
  await expect.poll(() => reasons).toEqual(["cancelled", expect.stringMatching(/^(cancelled|deadline_exceeded)$/)]);
});

test("a client that opens a stream and says nothing is not waited for", async () => {
  await using cluster = await startRpcNodes(1, toyServices, { rpc: { firstMessageMs: 100 } });
  const { gitaly } = grpcObject as unknown as Pick<ProtoGrpcType, "gitaly">;
  const client = new gitaly.SmartHTTPService(cluster.nodes[0]?.address ?? "", credentials.createInsecure());
  const call = client.postReceivePack();
  const error = await new Promise<ServiceError>((resolve) => call.on("error", resolve).resume());
  client.close();
  expect(error.code).toBe(status.DEADLINE_EXCEEDED);
});

test("a client that does not read holds its handler no longer than the deadline", async () => {
  const reasons: unknown[] = [];
  await using cluster = await startRpcNodes(
    1,
    () => ({
      "gitaly.RefService": {
        ListRefs: async function* (_request: never, call: CallContext) {
          call.signal.addEventListener("abort", () => reasons.push(call.signal.reason));
          for (;;) yield { references: [{ name: Buffer.alloc(1_000_000) }] };
        },
      },
    }),
    { rpc: { streamDeadlineMs: 300 } },
  );
  const { gitaly } = grpcObject as unknown as { gitaly: { RefService: new (...args: unknown[]) => RefServiceClient } };
  const client = new gitaly.RefService(cluster.nodes[0]?.address ?? "", credentials.createInsecure());
  const call = client.listRefs({ repository });
  call.on("error", () => {});
  await expect.poll(() => reasons, { timeout: 5000 }).toMatchObject([{ code: "deadline_exceeded" }]);
  call.cancel();
  client.close();
});

test("calls beyond the limit and its queue are refused with a delay", async () => {
  const release = deferred();
  await using cluster = await startRpcNodes(
    1,
    () => ({
      "gitaly.RefService": {
        FindDefaultBranchName: async () => {
          await release.promise;
          return { name: Buffer.from("refs/heads/main") };
        },
      },
    }),
    { rpc: { maxConcurrentCalls: 1, maxQueuedCalls: 1 } },
  );
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const calls = [1, 2, 3].map(() => client.ref.findDefaultBranchName({ repository }).catch((error: CodedError) => error));
  const refused = await Promise.race(calls);
  expect(refused).toMatchObject({ code: "limit_exceeded", retryAfterMs: 1000 });
  expect((await client.health.check({})).status).toBe("SERVING");
  release.resolve();
  expect((await Promise.all(calls)).filter((result) => !(result instanceof Error))).toHaveLength(2);
});

test("each call leaves one log line and is counted under the names of gRPC servers", async () => {
  const lines: { message: string; fields: LogFields }[] = [];
  const write = (message: string, fields: LogFields = {}) => void lines.push({ message, fields });
  const logger: Logger = { ...silentLogger, info: write, error: write, child: () => logger };
  const metrics = createMetrics();
  await using cluster = await startRpcNodes(1, toyServices, { logger, metrics });
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  await readAll(client.ref.listRefs({ repository }, { metadata: { "x-gitlab-correlation-id": "abc-1", client_name: "shell" } }));
  await failureOf(client.ref.findDefaultBranchName({}));
  await expect.poll(() => lines.length).toBe(2);
  expect(lines[0]).toMatchObject({
    message: "finished call",
    fields: {
      correlation_id: "abc-1",
      "grpc.service": "gitaly.RefService",
      "grpc.method": "ListRefs",
      "grpc.code": "OK",
      "grpc.request.fullMethod": "/gitaly.RefService/ListRefs",
      "grpc.request.repoPath": "group/project.git",
      "grpc.meta.client_name": "shell",
    },
  });
  expect(lines[1]?.fields).toMatchObject({ "grpc.code": "InvalidArgument", error: "repository not set" });
  const page = await metrics.expose();
  const labels = 'grpc_type="server_stream",grpc_service="gitaly.RefService",grpc_method="ListRefs"';
  expect(page).toContain(`grpc_server_handled_total{${labels},grpc_code="OK"} 1`);
  expect(page).toContain(`grpc_server_started_total{${labels}} 1`);
});
