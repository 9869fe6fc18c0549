import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { createKeyRing, type KeyRing } from "../../src/gossip/index.ts";
import type { SimCluster, StartOptions } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";
import { withCluster } from "./with-cluster.ts";

const k1 = new Uint8Array(32).fill(1);
const k2 = new Uint8Array(16).fill(2);

const sumOf = (node: SimNode, counter: string) =>
  [...node.counters].filter(([key]) => key.startsWith(`gitaly_cluster_gossip_${counter}`)).reduce((sum, [, value]) => sum + value, 0);

/** Runs for a minute in which everything has to reach everyone: metadata, messages by datagram and by stream, full exchanges. */
async function expectHealthy(cluster: SimCluster, nodes: readonly SimNode[], mark: number): Promise<void> {
  await cluster.runUntil("all see all", () => cluster.isConverged(nodes), 10_000);
  const exchanges = (result: string) => nodes.map((node) => sumOf(node, `exchanges_total{active,${result}`));
  const okBefore = exchanges("ok");
  const failedBefore = exchanges("failed");
  const sending = nodes.flatMap((node, index) => {
    cluster.setMeta(node, Uint8Array.of(mark, index));
    const others = nodes.filter((other) => other !== node);
    return others.flatMap(({ name }) =>
      [true, false].map((reliable) => node.member.send(name, Uint8Array.of(mark, index, reliable ? 1 : 0), { reliable })),
    );
  });
  await cluster.clock.until(Promise.all(sending));
  await cluster.run(60_000);
  expect(cluster.isConverged(nodes)).toBe(true);
  expect(cluster.suspicions).toBe(0);
  expect(exchanges("failed")).toEqual(failedBefore);
  for (const [index, node] of nodes.entries()) {
    const heard = node.events.flatMap((event) => (event.type === "message" && event.payload[0] === mark ? [event.payload.join()] : []));
    expect(heard).toHaveLength(2 * (nodes.length - 1));
    expect(new Set(heard).size).toBe(heard.length);
    expect(sumOf(node, "dropped_total")).toBe(0);
    expect(sumOf(node, "exchanges_total{active,ok")).toBeGreaterThan(okBefore[index] as number);
  }
}

async function startWithRings(cluster: SimCluster, count: number): Promise<{ nodes: SimNode[]; rings: KeyRing[] }> {
  const nodes: SimNode[] = [];
  const rings: KeyRing[] = [];
  for (let index = 1; index <= count; index++) {
    const keyRing = createKeyRing([k1]);
    const node = await cluster.start(index, { keyRing });
    if (nodes[0]) await cluster.join(node, nodes[0]);
    nodes.push(node);
    rings.push(keyRing);
  }
  return { nodes, rings };
}

// B58
test("a key is replaced node by node while the cluster runs, and nothing is lost", () =>
  withCluster(1, async (cluster) => {
    const { nodes, rings } = await startWithRings(cluster, 4);
    await expectHealthy(cluster, nodes, 1);
    for (const ring of rings) {
      ring.add(k2);
      await cluster.run(1000);
    }
    await expectHealthy(cluster, nodes, 2);
    for (const ring of rings) {
      ring.use(k2);
      await cluster.run(20_000);
    }
    await expectHealthy(cluster, nodes, 3);
    for (const ring of rings) {
      ring.remove(k1);
      await cluster.run(20_000);
    }
    await expectHealthy(cluster, nodes, 4);
  }));

async function rejection(promise: Promise<unknown>): Promise<CodedError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!CodedError.is(error)) throw new Error("a typed error was expected", { cause: error });
  return error;
}

const mismatch = { code: "cluster_mismatch", fields: { host: "10.0.0.1", port: 7946, reason: "key" } };

// B58
test.each([
  ["while the old key is still accepted", false],
  ["when the old key is gone", true],
])("a node that was away during the change of the key is told of the mismatch, and nobody takes it for a member: %s", (_when, removed) =>
  withCluster(2, async (cluster) => {
    const { nodes, rings } = await startWithRings(cluster, 4);
    const [n1, , , away] = nodes as [SimNode, SimNode, SimNode, SimNode];
    await cluster.leave(away);
    await cluster.crash(away);
    for (const ring of rings) {
      ring.add(k2);
      ring.use(k2);
      if (removed) ring.remove(k1);
    }
    await cluster.run(60_000);
    const late = await cluster.start(4, { keyRing: createKeyRing([k1]) });
    expect(await rejection(cluster.join(late, n1))).toMatchObject(mismatch);
    await cluster.run(300_000);
    expect(n1.member.members().some(({ name, state }) => name === late.name && state !== "left")).toBe(false);
    expect(late.member.members()).toHaveLength(1);
    const said = late.warnings.filter(({ message }) => message.startsWith("key mismatch"));
    expect(said.length).toBeGreaterThanOrEqual(2);
    expect(said.length).toBeLessThanOrEqual(6);
    if (!removed) return;
    const heard = n1.warnings.filter(({ message }) => message.startsWith("key mismatch"));
    expect(heard.length).toBeGreaterThanOrEqual(1);
    expect(heard.length).toBeLessThanOrEqual(6);
    expect(n1.counters.get("gitaly_cluster_gossip_dropped_total{decrypt}")).toBeGreaterThan(heard.length);
  }),
);

test("a node that has the new key comes back by itself, for the addresses that refused it are tried again", () =>
  withCluster(3, async (cluster) => {
    const { nodes, rings } = await startWithRings(cluster, 3);
    for (const ring of rings) {
      ring.add(k2);
      ring.use(k2);
      ring.remove(k1);
    }
    const keyRing = createKeyRing([k1]);
    const late = await cluster.start(4, { keyRing });
    expect(await rejection(cluster.join(late, nodes[0] as SimNode))).toMatchObject(mismatch);
    keyRing.add(k2);
    keyRing.use(k2);
    await cluster.runUntil("the late node is a member", () => cluster.isConverged(), 60_000);
  }));

test("a node without a key, and one with a key where there is none, are told of the mismatch", () =>
  withCluster(4, async (cluster) => {
    const { nodes } = await startWithRings(cluster, 1);
    const bare = await cluster.start(2);
    expect(await rejection(cluster.join(bare, nodes[0] as SimNode))).toMatchObject(mismatch);
    const keyed = await cluster.start(3, { encryptionKeys: [k1] });
    const error = await rejection(cluster.join(keyed, bare));
    expect(error).toMatchObject({ ...mismatch, fields: { host: "10.0.0.2", port: 7946, reason: "key" } });
  }));

const keyed: StartOptions = { encryptionKeys: [k1] };
const phases: Record<string, StartOptions> = {
  plaintext: {},
  "a key that is not used yet": { ...keyed, verifyIncoming: false, verifyOutgoing: false },
  "a key that is used and not asked for": { ...keyed, verifyIncoming: false },
  "a key that is asked for": keyed,
};

test.each([
  ["plaintext", "a key that is not used yet"],
  ["a key that is not used yet", "a key that is used and not asked for"],
  ["a key that is used and not asked for", "a key that is asked for"],
])("encryption is turned on node by node: a cluster with %s on one half and %s on the other is whole", (before, after) =>
  withCluster(5, async (cluster) => {
    const nodes: SimNode[] = [];
    for (let index = 1; index <= 4; index++) {
      const node = await cluster.start(index, phases[index % 2 === 1 ? before : after] as StartOptions);
      if (nodes[0]) await cluster.join(node, nodes[0]);
      nodes.push(node);
    }
    await expectHealthy(cluster, nodes, 1);
  }),
);

test("members with a label hear those without one where they are told to, and those hear nothing of them", () =>
  withCluster(6, async (cluster) => {
    const labelled = await cluster.start(1, { label: "blue", acceptUnlabelled: true });
    const plain = await cluster.start(2);
    const same = await cluster.start(3, { label: "blue", acceptUnlabelled: true });
    const other = await cluster.start(4, { label: "green" });
    expect(await cluster.join(same, labelled)).toBe(1);
    await rejection(cluster.join(other, labelled));
    await rejection(cluster.join(labelled, plain));
    expect(plain.counters.get("gitaly_cluster_gossip_dropped_total{label}")).toBeGreaterThan(0);
    expect(await cluster.join(plain, labelled)).toBe(1);
    expect(labelled.member.members().map(({ name }) => name)).toContain(plain.name);
  }));

test("members that do not speak each other's protocol do not become one cluster", () =>
  withCluster(7, async (cluster) => {
    const nodes = await cluster.startJoined(3, { delegateVersions: [2, 5, 4] });
    const old = await cluster.start(4, { delegateVersions: [1, 3, 3] });
    const error = await rejection(cluster.join(old, nodes[0] as SimNode));
    expect(error).toMatchObject({ code: "cluster_mismatch", fields: { reason: "versions" } });
    const near = await cluster.start(5, { delegateVersions: [3, 6, 5] });
    expect(await cluster.join(near, nodes[0] as SimNode)).toBe(1);
    await cluster.run(60_000);
    expect(near.member.members().map(({ name }) => name)).toEqual(["n1", "n2", "n3", "n5"]);
    expect(old.member.members()).toHaveLength(1);
  }));

test.each([
  ["of the future", [6, 7, 7, 0, 0, 0]],
  ["that nobody here speaks", [1, 1, 1, 0, 0, 0]],
  ["of zero", [0, 0, 0, 0, 0, 0]],
  ["of another application", [1, 5, 2, 9, 9, 9]],
  ["of three bytes, out of range", [6, 7, 7]],
  ["of three bytes, in range", [1, 5, 2]],
  ["of nothing", []],
])("one claim of a node with versions %s keeps nobody from joining", (_what, versions) =>
  withCluster(9, async (cluster) => {
    const options: StartOptions = { delegateVersions: [2, 5, 4] };
    const [n1, n2] = (await cluster.startJoined(2, options)) as [SimNode, SimNode];
    const address = Uint8Array.of(10, 0, 0, 99);
    const ghost = { type: "alive", node: "ghost", incarnation: 1, address, port: 7946, meta: new Uint8Array() } as const;
    const claim = encodePacketMessage({ ...ghost, versions: Uint8Array.from(versions) });
    for (const { member } of [n1, n2]) cluster.network.transport(member.address)?.receivePacket(claim, { host: "10.0.0.99", port: 7946 });
    const n3 = await cluster.start(3, options);
    expect(await cluster.join(n3, n1, n2)).toBe(2);
    const isRefused = n1.counters.get("gitaly_cluster_gossip_dropped_total{invalid}") === 1;
    // Who says too little is taken for one that goes with the others.
    expect(isRefused).toBe(versions.length > 3 || versions[0] === 6);
    expect(n3.member.members().some(({ name }) => name === "ghost")).toBe(!isRefused);
  }),
);

test("a cluster of protocol version 1, which tells no ports, is whole where all use one port, with padded encryption as well", () =>
  withCluster(8, async (cluster) => {
    for (const options of [{}, { encryptionKeys: [k1] }]) {
      const first = cluster.nodes.size + 1;
      const nodes: SimNode[] = [];
      for (let index = first; index < first + 3; index++) {
        const node = await cluster.start(index, { protocolVersion: 1, ...options });
        if (nodes[0]) await cluster.join(node, nodes[0]);
        nodes.push(node);
      }
      await expectHealthy(cluster, nodes, 1);
    }
  }));
