import { createServer, type Socket } from "node:net";
import { Metadata, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { GitalyClient } from "../../src/client/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { type RawBidi, redirectUnary, startRawServer } from "../support/raw-grpc-server.ts";
import { readAll } from "../support/read-all.ts";
import { memberOf, startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repositoryAt = (relativePath: string) => ({ storageName: "default", relativePath });

const cleanups: (() => void)[] = [];
afterEach(() => cleanups.splice(0).forEach((cleanup) => void cleanup()));

/** A listener that accepts and never says a word. */
async function startSilentPeer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

// B79
test("where the first owner has just died, the second one gets the call", async () => {
  await using cluster = await startRpcNodes(3, toyServices, { replicas: 2 });
  const [n1, n2, n3] = cluster.nodes;
  const repository = repositoryAt(cluster.pathOwnedBy("n1", "n2"));
  await using client = new GitalyClient({ addresses: n3?.address ?? "" });
  expect((await client.ref.findDefaultBranchName({ repository })).name.toString()).toBe("n1");
  await n1?.server.destroy();
  const started = performance.now();
  expect((await client.ref.findDefaultBranchName({ repository })).name.toString()).toBe("n2");
  await client.repository.createRepository({ repository });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(n2?.handled).toEqual(["FindDefaultBranchName", "CreateRepository"]);
});

test("where the only owner has just died, the node that named it serves", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [n1, n2] = cluster.nodes;
  const repository = repositoryAt(cluster.pathOwnedBy("n2"));
  await n2?.server.destroy();
  await using client = new GitalyClient({ addresses: n1?.address ?? "" });
  expect((await client.ref.findDefaultBranchName({ repository })).name.toString()).toBe("n1");
});

// B81
test("an owner that accepts connections and stays silent is passed over", async () => {
  await using cluster = await startRpcNodes(3, toyServices, { replicas: 2 });
  const [, n2, n3] = cluster.nodes;
  if (!n2 || !n3) throw new Error("three nodes");
  const repository = repositoryAt(cluster.pathOwnedBy("n1", "n2"));
  n3.view = { ...n3.view, members: [memberOf("n1", await startSilentPeer()), memberOf("n2", n2.address)] };
  await using client = new GitalyClient({ addresses: n3.address, connectTimeoutMs: 1000 });
  expect((await client.ref.findDefaultBranchName({ repository })).name.toString()).toBe("n2");
});

test("a call to nothing but silent peers ends at its deadline", async () => {
  await using client = new GitalyClient({ addresses: await startSilentPeer() });
  const call = client.ref.findDefaultBranchName({ repository: repositoryAt("a.git") }, { deadlineMs: 150 });
  expect((await failureOf(call)).code).toBe("deadline_exceeded");
});

// B77
test("redirects without end stop at the limit, with the hops in the error", async () => {
  const addresses: string[] = [];
  const nextAfter = (i: number) => () => [{ node: "other", address: `grpc://${addresses[1 - i]}` }];
  await using a = await startRawServer({ "gitaly.RepositoryService": { RepositoryExists: redirectUnary(nextAfter(0)) } });
  await using b = await startRawServer({ "gitaly.RepositoryService": { RepositoryExists: redirectUnary(nextAfter(1)) } });
  addresses.push(a.address, b.address);
  await using client = new GitalyClient({ addresses: a.address });
  const error = await failureOf(client.repository.repositoryExists({ repository: repositoryAt("a.git") }));
  expect(error.code).toBe("redirect_exhausted");
  const [to, fro] = [`grpc://${a.address}`, `grpc://${b.address}`];
  expect(error.fields["hops"]).toEqual([to, fro, to, fro, to, fro]);
});

// B78
test("a node that redirects to itself is asked once more over a new connection, then given up", async () => {
  const asked: string[] = [];
  const owners = () => [{ node: "n1", address: `grpc://localhost:${peer.address.split(":")[1]}` }];
  const redirect = redirectUnary(owners, "n1");
  await using peer = await startRawServer({
    "gitaly.RepositoryService": {
      RepositoryExists: (call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>) => {
        asked.push(call.getPeer());
        redirect(call, callback);
      },
    },
  });
  await using client = new GitalyClient({ addresses: peer.address });
  const error = await failureOf(client.repository.repositoryExists({ repository: repositoryAt("a.git") }));
  expect(error.code).toBe("redirect_exhausted");
  expect(new Set(asked).size).toBe(2);
});

// B93
test("a push whose connection breaks after the node has it is not sent again; its outcome is called unknown", async () => {
  let received = 0;
  const push: RawBidi = (call) => {
    call.on("error", () => {});
    call.sendMetadata(new Metadata());
    call.on("data", () => {
      received++;
      if (received === 2) peer.kill();
    });
  };
  await using peer = await startRawServer({ "gitaly.SmartHTTPService": { PostReceivePack: push } });
  await using other = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: [peer.address, other.nodes[0]?.address ?? ""] });
  const requests = async function* () {
    yield { repository: repositoryAt("a.git"), glId: "user-1" };
    yield { data: Buffer.from("pack") };
    await new Promise(() => {});
  };
  const error = await failureOf(readAll(client.smartHttp.postReceivePack(requests())));
  expect(error.code).toBe("outcome_unknown");
  expect(other.nodes[0]?.handled).toEqual([]);
});

test("a unary write whose connection breaks is not sent again; a read is", async () => {
  const cut = () => {
    peer.kill();
  };
  await using peer = await startRawServer({ "gitaly.RepositoryService": { CreateRepository: cut, RepositoryExists: cut } });
  await using second = await startRawServer({
    "gitaly.RepositoryService": { CreateRepository: () => second.kill(), RepositoryExists: () => {} },
  });
  await using cluster = await startRpcNodes(1, toyServices);
  const last = cluster.nodes[0]?.address ?? "";
  const repository = repositoryAt("a.git");
  await using reader = new GitalyClient({ addresses: [peer.address, last] });
  expect(await reader.repository.repositoryExists({ repository })).toEqual({ exists: true });
  await using writer = new GitalyClient({ addresses: [second.address, last] });
  const error = await failureOf(writer.repository.createRepository({ repository }));
  expect(error.code).toBe("outcome_unknown");
  expect(error.fields["grpcCode"]).toBe(status.CANCELLED);
  expect(cluster.nodes[0]?.handled).toEqual(["RepositoryExists"]);
});
