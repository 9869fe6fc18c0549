import { type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { startRawServer } from "../support/raw-grpc-server.ts";
import { readAll } from "../support/read-all.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repository = { storageName: "default", relativePath: "group/project.git" };

test("a token is refused until it can be used, and so is a client without an address", () => {
  expect(() => new GitalyClient({ addresses: "a:1", token: "secret" })).toThrow("the client cannot use a token yet");
  expect(() => new GitalyClient({ addresses: [] })).toThrow(CodedError);
  expect(() => new GitalyClient({ addresses: "nonsense://" })).toThrow(CodedError);
});

test("the closing client ends calls that run", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  const client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const watch = client.health.watch({});
  const seen = failureOf(
    (async () => {
      for await (const _message of watch) await client.close();
    })(),
  );
  expect((await seen).message).toBe("the client is closed");
  expect((await failureOf(client.health.check({}))).code).toBe("cancelled");
});

test("a reader that stops early cancels the call at the node", async () => {
  let ended = false;
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      ListRefs: async function* () {
        try {
          for (;;) yield { references: [{ name: Buffer.alloc(100_000) }] };
        } finally {
          ended = true;
        }
      },
    },
  }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  for await (const _message of client.ref.listRefs({ repository })) break;
  await expect.poll(() => ended).toBe(true);
});

test("an error of the caller's own request stream ends the call with that error", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const broken = new Error("disk is gone");
  const body = async function* () {
    yield { repository };
    yield { data: Buffer.from("x") };
    throw broken;
  };
  await expect(readAll(client.smartHttp.postUploadPack(body()))).rejects.toBe(broken);
  const none = async function* (): AsyncGenerator<object> {};
  expect((await failureOf(readAll(client.smartHttp.postUploadPack(none())))).code).toBe("invalid_argument");
});

// B82
test("a node that comes back is used at once, whatever the back-off", async () => {
  const first = await startRpcNodes(1, toyServices);
  const [host = "", port] = first.nodes[0]?.address.split(":") ?? [];
  await using client = new GitalyClient({ addresses: first.nodes[0]?.address ?? "" });
  await client.health.check({});
  await first[Symbol.asyncDispose]();
  for (let i = 0; i < 5; i++) expect((await failureOf(client.health.check({}))).code).toBe("node_unavailable");
  await using second = await startRpcNodes(1, toyServices);
  await second.nodes[0]?.server.listen({ host, port: Number(port) });
  await expect.poll(async () => (await client.health.check({}).catch(() => ({ status: "" }))).status, { timeout: 3000 }).toBe("SERVING");
});

// B93
test("a write that a node refuses before it starts goes to the next node", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [n1, n2] = cluster.nodes;
  if (!n1 || !n2) throw new Error("two nodes");
  n1.state = { state: "warming" };
  await using client = new GitalyClient({ addresses: [n1.address, n2.address] });
  await client.repository.createRepository({ repository: { ...repository, relativePath: cluster.pathOwnedBy("n2") } });
  expect(n2.handled).toEqual(["CreateRepository"]);
});

test("a write that is sent and never answered has an unknown outcome; a read is asked elsewhere", async () => {
  await using mute = await startRawServer({ "gitaly.RepositoryService": { CreateRepository: () => {}, RepositoryExists: () => {} } });
  await using cluster = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: [mute.address, cluster.nodes[0]?.address ?? ""], answerTimeoutMs: 1000 });
  expect((await failureOf(client.repository.createRepository({ repository }))).code).toBe("outcome_unknown");
  expect(await client.repository.repositoryExists({ repository })).toEqual({ exists: true });
  expect(cluster.nodes[0]?.handled).toEqual(["RepositoryExists"]);
});

test("a node that has the call and cannot do it is believed: a write ends with its word, a read goes on to the next node", async () => {
  const away = async () => {
    throw new CodedError("store_unavailable", "the object store does not answer", {}, { retryAfterMs: 300 });
  };
  await using failing = await startRpcNodes(1, () => ({ "gitaly.RepositoryService": { CreateRepository: away, RepositoryExists: away } }));
  await using cluster = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: [failing.nodes[0]?.address ?? "", cluster.nodes[0]?.address ?? ""] });
  const error = await failureOf(client.repository.createRepository({ repository }));
  expect(error).toMatchObject({ code: "node_unavailable", message: "the object store does not answer", retryAfterMs: 300 });
  expect(error.fields["node"]).toBe("n1");
  expect(await client.repository.repositoryExists({ repository })).toEqual({ exists: true });
  expect(cluster.nodes[0]?.handled).toEqual(["RepositoryExists"]);
});

// B94
test("64-bit numbers keep their digits", async () => {
  const size = "9007199254740993";
  await using cluster = await startRpcNodes(1, () => ({ "gitaly.RepositoryService": { RepositorySize: async () => ({ size }) } }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  expect((await client.repository.repositorySize({ repository })).size).toBe(size);
});

// B87
test("a response that cannot be encoded ends the call", async () => {
  const unencodable = { references: 5 as unknown as object[] };
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.RefService": {
      FindDefaultBranchName: async () => ({ name: "not base64: *" }),
      ListRefs: async function* () {
        yield unencodable;
      },
    },
  }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const failures = [failureOf(readAll(client.ref.listRefs({ repository }))), failureOf(client.ref.findDefaultBranchName({ repository }))];
  for (const failure of failures) expect((await failure).fields["grpcCode"]).toBe(status.INTERNAL);
});

// B90
test("paths beyond ASCII are redirected and served", async () => {
  await using cluster = await startRpcNodes(3, (name) => toyServices(name));
  await using client = new GitalyClient({ addresses: cluster.nodes.map(({ address }) => address) });
  for (let i = 0; i < 9; i++) {
    const path = `그룹/저장소-${i}.git`;
    const { name } = await client.ref.findDefaultBranchName({ repository: { ...repository, relativePath: path } });
    expect(name.toString()).toMatch(/^n[123]$/);
  }
});

test("a status of a peer that is not ours is told as it is", async () => {
  await using peer = await startRawServer({
    "grpc.health.v1.Health": {
      Check: (_call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>) =>
        callback({ code: status.OUT_OF_RANGE, details: "odd" }),
    },
  });
  await using client = new GitalyClient({ addresses: peer.address });
  expect(await failureOf(client.health.check({}))).toMatchObject({ code: "invalid_argument", message: "odd" });
});
