import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Server, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { errnoOf } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import type { CallContext } from "../../src/rpc/index.ts";
import { deferred } from "../support/deferred.ts";
import { failureOf } from "../support/failure-of.ts";
import { readAll } from "../support/read-all.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repository = { storageName: "default", relativePath: "group/project.git" };

const windowBytes = 4 * 1024 * 1024;

test("while it warms up a node tells callers when to come again, but answers questions about itself", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  const [node] = cluster.nodes;
  if (!node) throw new Error("one node");
  node.state = { state: "warming", reason: "no object store yet" };
  await using client = new GitalyClient({ addresses: node.address });
  const error = await failureOf(client.ref.findDefaultBranchName({ repository }));
  expect(error.code).toBe("node_unavailable");
  expect(error.retryAfterMs).toBe(1000);
  expect((await client.server.serverInfo({})).serverVersion).toBe("n1");
  expect((await client.health.check({ service: "" })).status).toBe("NOT_SERVING");
});

test("health follows the node's state, by question and by watch", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  const [node] = cluster.nodes;
  if (!node) throw new Error("one node");
  await using client = new GitalyClient({ addresses: node.address });
  expect((await client.health.check({ service: "" })).status).toBe("SERVING");
  expect((await client.health.check({ service: "gitaly.RefService" })).status).toBe("SERVING");
  expect((await failureOf(client.health.check({ service: "no.such.Service" }))).fields["grpcCode"]).toBe(status.NOT_FOUND);
  const seen: string[] = [];
  for await (const { status: current } of client.health.watch({ service: "" })) {
    seen.push(current);
    if (seen.length === 2) break;
    node.state = { state: "draining" };
  }
  expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
});

test("a drain lets running calls finish, ends endless ones, and refuses new ones", async () => {
  const release = deferred();
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      FindDefaultBranchName: async () => {
        await release.promise;
        return { name: Buffer.from("refs/heads/main") };
      },
    },
  }));
  const [node] = cluster.nodes;
  if (!node) throw new Error("one node");
  await using client = new GitalyClient({ addresses: node.address });
  const started = deferred();
  const running = client.ref.findDefaultBranchName({ repository }, { onHeader: () => started.resolve() });
  const watching = failureOf(readAll(client.health.watch({})));
  await started.promise;
  const closing = node.server.close();
  expect((await watching).code).toBe("node_unavailable");
  await using late = new GitalyClient({ addresses: node.address });
  expect((await failureOf(late.health.check({}))).code).toBe("node_unavailable");
  release.resolve();
  expect((await running).name.toString()).toBe("refs/heads/main");
  await closing;
});

test("a drain ends what is left when its time is over", async () => {
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      FindDefaultBranchName: (_request: never, call: CallContext) =>
        new Promise<object>((_resolve, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason))),
    },
  }));
  const [node] = cluster.nodes;
  if (!node) throw new Error("one node");
  await using client = new GitalyClient({ addresses: node.address });
  const started = deferred();
  const running = failureOf(client.ref.findDefaultBranchName({ repository }, { onHeader: () => started.resolve() }));
  await started.promise;
  await node.server.close(AbortSignal.abort());
  expect((await running).code).toBe("node_unavailable");
});

test("clients that never say a word do not keep a drain waiting, nor the server open when its time is over", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [drained, stopped] = cluster.nodes;
  if (!drained || !stopped) throw new Error("two nodes");
  const silent = [];
  for (const { address } of [drained, stopped]) {
    for (const firstWords of ["", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0"]) {
      const [host, port] = address.split(":");
      const socket = connect({ port: Number(port), host: host ?? "", allowHalfOpen: true });
      socket.on("error", () => {});
      // The server's own first frame: it knows the connection.
      await once(socket, "readable");
      socket.write(firstWords);
      silent.push(socket);
    }
  }
  await stopped.server.close(AbortSignal.abort());
  await drained.server.close();
  for (const socket of silent) socket.destroy();
});

test("a port that is taken is reported by its errno", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [n1] = cluster.nodes;
  const [host = "", port] = n1?.address.split(":") ?? [];
  await using other = await startRpcNodes(1, toyServices);
  const listening = other.nodes[0]?.server.listen({ host, port: Number(port) });
  const error = await listening?.catch((reason: unknown) => reason);
  expect(errnoOf(error)).toBe("EADDRINUSE");
});

test("the server opens a window of 4 MiB per call and connection, through fields that this grpc-js has", async () => {
  const fields = new Server() as unknown as { commonServerOptions: unknown; http2Servers: unknown };
  expect(fields.commonServerOptions).toBeTypeOf("object");
  expect(fields.http2Servers).toBeInstanceOf(Map);
  await using cluster = await startRpcNodes(1, toyServices);
  const session = connectHttp2(`http://${cluster.nodes[0]?.address}`);
  const settings = await new Promise<{ initialWindowSize?: number; maxConcurrentStreams?: number }>((resolve) =>
    session.once("remoteSettings", resolve),
  );
  expect(settings.initialWindowSize).toBe(windowBytes);
  expect(settings.maxConcurrentStreams).toBe(1000);
  await expect.poll(() => session.state.remoteWindowSize).toBe(windowBytes);
  session.destroy();
});
