import { beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { failureOf } from "../support/failure-of.ts";
import { ServerFixture, type ServerNode, until } from "../support/server-fixture.ts";

let nodes: ServerFixture;
beforeEach(async () => {
  nodes = await ServerFixture.open();
  return () => nodes[Symbol.asyncDispose]();
});

const k1 = Buffer.alloc(32, 1).toString("base64");
const k2 = Buffer.alloc(16, 2).toString("base64");

type Env = Record<string, string>;
const keys = (...list: string[]): Env => ({ GITALY_CLUSTER_ENCRYPTION_KEYS: list.join(",") });
const mode = (encryption: string): Env => ({ ...keys(k1), GITALY_CLUSTER_ENCRYPTION: encryption });

async function ready(name: string, env: Env, joinAddr?: string): Promise<ServerNode> {
  const node = await nodes.start(name, joinAddr === undefined ? {} : { "join-addr": [joinAddr] }, { env });
  await node.server.whenReady(neverAborted);
  return node;
}

/** Waits until each node sees all of them ready. */
async function together(...members: ServerNode[]): Promise<void> {
  for (const { server } of members) {
    await using client = new GitalyClient({ addresses: `http://${server.info.grpc}` });
    await until(
      async () => (await client.cluster.listMembers({})).members.filter(({ status }) => status === "ready").length === members.length,
    );
  }
}

const grpc = ({ server }: ServerNode) => `http://${server.info.grpc}`;
const gossip = ({ server }: ServerNode) => `gossip://${server.info.gossip}`;

test("nodes with one key are a cluster, joined over gRPC or gossip, and no log shows the key", async () => {
  const first = await ready("n1", keys(k1));
  const second = await ready("n2", keys(k1), grpc(first));
  const third = await ready("n3", keys(k1), gossip(second));
  await together(first, second, third);
  for (const { log } of [first, second, third]) expect(log.join("\n")).not.toContain(k1);
});

test.each<[string, Env, (node: ServerNode) => string]>([
  ["another key over gRPC", keys(k2), grpc],
  ["another key over gossip", keys(k2), gossip],
  ["no key over gRPC", {}, grpc],
  ["no key over gossip", {}, gossip],
])("a node that joins with %s ends with an error that says so, and the cluster warns of it", async (_what, env, address) => {
  const first = await ready("n1", keys(k1));
  const stranger = await nodes.start("n2", { "join-addr": [address(first)] }, { env });
  const failure = await failureOf(stranger.server.whenReady(neverAborted));
  expect(failure).toMatchObject({
    code: "cluster_mismatch",
    message: expect.stringMatching(/^key mismatch/),
    fields: { reason: "key", port: Number(first.server.info.gossip.split(":")[1]) },
  });
  expect(await failureOf(stranger.server.closed)).toBe(failure);
  expect(first.log.filter((line) => line.includes("key mismatch"))).toHaveLength(1);
  for (const { log } of [first, stranger]) expect(log.join("\n")).not.toMatch(/AQEBAQEB|AgICAgIC/);
});

test.each<[string, Env[]]>([
  ["the key is replaced", [keys(k1), keys(k1, k2), keys(k2, k1), keys(k2)]],
  ["encryption is turned on", [{}, mode("accepted"), mode("preferred"), mode("required")]],
])("%s by restarting one node after the other, and after each restart all see each other", async (_what, phases) => {
  const [start = {}, ...changes] = phases;
  let first = await ready("n1", start);
  let second = await ready("n2", start, grpc(first));
  await together(first, second);
  for (const env of changes) {
    await second.server.drain();
    second = await ready("n2", env, grpc(first));
    await together(first, second);
    await first.server.drain();
    first = await ready("n1", env, grpc(second));
    await together(first, second);
  }
});
