import { expect, test } from "vitest";
import { type CallInfo, GitalyClient } from "../../src/client/index.ts";
import { Ring } from "../../src/ring/index.ts";
import { memberOf, startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repositoryAt = (relativePath: string) => ({ storageName: "default", relativePath });

test("a call is redirected once, and the next one goes straight to the owner", async () => {
  await using cluster = await startRpcNodes(3, toyServices);
  const [n1, n2] = cluster.nodes;
  const repository = repositoryAt(cluster.pathOwnedBy("n2"));
  await using client = new GitalyClient({ addresses: n1?.address ?? "" });
  const infos: CallInfo[] = [];
  const asked: string[] = [];
  const onHeader = (info: CallInfo) => void infos.push(info);
  const onAttempt = ({ node }: CallInfo) => void asked.push(node);
  for (let i = 0; i < 2; i++) {
    const { name } = await client.ref.findDefaultBranchName({ repository }, { onHeader, onAttempt });
    expect(name.toString()).toBe("n2");
  }
  expect(infos).toEqual([
    { node: "n2", address: `grpc://${n2?.address}`, hops: 1 },
    { node: "n2", address: `grpc://${n2?.address}`, hops: 0 },
  ]);
  expect(asked).toEqual(["n1", "n2", "n2"]);
  expect(n1?.handled).toEqual([]);
});

test("every call shape is redirected before a handler starts", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [n1, n2] = cluster.nodes;
  const repository = repositoryAt(cluster.pathOwnedBy("n2"));
  const fresh = () => new GitalyClient({ addresses: n1?.address ?? "" });
  {
    await using client = fresh();
    let count = 0;
    for await (const { references } of client.ref.listRefs({ repository, patterns: [Buffer.from("3")] })) count += references.length;
    expect(count).toBe(3000);
  }
  {
    await using client = fresh();
    const chunk = Buffer.alloc(128 * 1024, 7);
    let sent = 0;
    const requests = async function* () {
      yield { repository, glId: "user-1" };
      for (; sent < 100; sent++) yield { data: chunk };
    };
    const answers: string[] = [];
    for await (const { data } of client.smartHttp.postReceivePack(requests())) answers.push(data.toString());
    expect(answers).toEqual([`n2 ${100 * chunk.length}`]);
  }
  expect(n1?.handled).toEqual([]);
  expect(n2?.handled).toEqual(["ListRefs", "PostReceivePack"]);
});

// B77
test("two nodes with different views do not send a call to and fro: the second bounce is served", async () => {
  await using cluster = await startRpcNodes(2, toyServices);
  const [n1, n2] = cluster.nodes;
  if (!n1 || !n2) throw new Error("two nodes");
  n1.view = { ...n1.view, ring: new Ring([{ name: "n2", weight: 1 }]) };
  n2.view = { ...n2.view, ring: new Ring([{ name: "n1", weight: 1 }]) };
  await using client = new GitalyClient({ addresses: n1.address });
  let info: CallInfo | undefined;
  const { name } = await client.ref.findDefaultBranchName(
    { repository: repositoryAt("a.git") },
    {
      onHeader: (header) => {
        info = header;
      },
    },
  );
  expect(name.toString()).toBe("n1");
  expect(info?.hops).toBe(2);
});

// B78
test("a node that is advertised under another name knows itself, and serves", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  const [n1] = cluster.nodes;
  if (!n1) throw new Error("one node");
  const port = n1.address.split(":")[1];
  n1.view = { ...n1.view, members: [memberOf("n1", `localhost:${port}`)] };
  await using client = new GitalyClient({ addresses: n1.address });
  const { name } = await client.ref.findDefaultBranchName({ repository: repositoryAt("a.git") });
  expect(name.toString()).toBe("n1");
});

test("a new ring fingerprint makes the client forget what it learnt from the old ring", async () => {
  await using cluster = await startRpcNodes(3, toyServices);
  const [n1, n2, n3] = cluster.nodes;
  if (!n1 || !n2 || !n3) throw new Error("three nodes");
  const old = repositoryAt(cluster.pathOwnedBy("n2"));
  await using client = new GitalyClient({ addresses: n1.address });
  await client.ref.findDefaultBranchName({ repository: old });
  const ring = new Ring([{ name: "n3", weight: 1 }]);
  for (const node of cluster.nodes) node.view = { ...node.view, ring };
  const { name: other } = await client.ref.findDefaultBranchName({ repository: repositoryAt("new.git") });
  expect(other.toString()).toBe("n3");
  const asked: string[] = [];
  const { name } = await client.ref.findDefaultBranchName({ repository: old }, { onHeader: ({ address }) => asked.push(address) });
  expect(name.toString()).toBe("n3");
  expect(n2.handled).toHaveLength(1);
});
