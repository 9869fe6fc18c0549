import { afterEach, beforeEach, expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import type { JoinAddress } from "../../../src/config/index.ts";
import { noMetrics, silentLogger } from "../../../src/observability/index.ts";
import { type AskPeersDeps, askOnce, askPeer, type PeerAnswer } from "../../../src/server/ask-peers.ts";
import { findCluster } from "../../../src/server/find-cluster.ts";
import { JoinLoop } from "../../../src/server/join-loop.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

const clusterId = "00112233445566778899aabbccddeeff";
const answer: PeerAnswer = {
  clusterId,
  node: "founder",
  objectStorageUrl: "file:///store",
  objectStorageEmbedded: true,
  databaseDirectory: "",
  databaseUrls: [],
  replicas: 1,
  hashSeed: "0",
  gossipAddresses: ["127.0.0.1:7946"],
};
const target = (text: string): JoinAddress => ({ scheme: "grpc", host: text, port: 8075, text });
const refuse = () => Promise.reject(new CodedError("node_unavailable", "connection refused"));

let clock: SimClock;
let stop: AbortController;
/** host -> how it answers; a host that is not listed does not resolve. */
let hosts: Map<string, () => Promise<PeerAnswer>>;
let asked: string[];
let deps: AskPeersDeps;

beforeEach(() => {
  clock = new SimClock();
  stop = new AbortController();
  hosts = new Map();
  asked = [];
  deps = {
    clock,
    random: simRandom(1),
    logger: silentLogger,
    resolve: async (name) => {
      const found = [...hosts.keys()].filter((host) => host === name || host.startsWith(`${name}/`));
      if (found.length === 0) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return found;
    },
    bootstrap: async (host) => {
      asked.push(host);
      return (hosts.get(host) as () => Promise<PeerAnswer>)();
    },
    gossipMembers: async () => ["a:8075"],
  };
});
afterEach(() => stop.abort());

// B38, B39
test("a node without a store waits through refused connections and names that do not resolve, and joins soon after one answers", async () => {
  const reasons: string[] = [];
  const found = findCluster([target("later"), target("down")], deps, (reason) => reasons.push(reason), stop.signal);
  hosts.set("down", refuse);
  await clock.advance(10_000);
  expect(reasons.at(-1)).toMatch(/later: not found; down: connection refused/);
  expect(asked.length).toBeGreaterThan(3);
  hosts.set("later", async () => answer);
  await clock.advance(3000);
  expect(await found).toEqual(answer);
});

// B41, B42
test("every address of a name is tried until one answers, but never more than five", async () => {
  for (let i = 0; i < 4; i++) hosts.set(`many/${i}`, refuse);
  hosts.set("many/live", async () => answer);
  expect(await askPeer(target("many"), deps, stop.signal)).toEqual(answer);
  asked = [];
  for (let i = 0; i < 200; i++) hosts.set(`crowd/${i}`, refuse);
  await expect(askPeer(target("crowd"), deps, stop.signal)).rejects.toMatchObject({ code: "node_unavailable" });
  expect(asked).toHaveLength(5);
});

test("a peer that accepts and stays silent costs two seconds, then the next address is asked", async () => {
  deps = {
    ...deps,
    bootstrap: (host, _port, signal) =>
      host === "pair/silent"
        ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
        : Promise.resolve(answer),
  };
  hosts.set("pair/silent", refuse).set("pair/live", refuse);
  const found = askPeer(target("pair"), deps, stop.signal);
  await clock.advance(2000);
  expect(await found).toEqual(answer);
});

test("a target of another cluster ends a start with both ids", async () => {
  hosts.set("other", async () => ({ ...answer, clusterId: "ff".repeat(16) }));
  await expect(askOnce([target("other")], clusterId, deps, stop.signal)).rejects.toMatchObject({
    code: "cluster_mismatch",
    fields: { theirs: "ff".repeat(16), ours: clusterId, target: "other" },
  });
});

function loopFor(targets: JoinAddress[], options: { alone?: () => boolean; joining?: () => void } = {}) {
  const joined: string[][] = [];
  let refused = 0;
  const loop = new JoinLoop(targets, {
    ...deps,
    clusterId,
    self: "me",
    join: async (addresses) => {
      options.joining?.();
      return joined.push([...addresses]);
    },
    alone: options.alone ?? (() => false),
    refused: { ...noMetrics.counter("", ""), add: () => void refused++ },
  });
  return { loop, joined, refusals: () => refused };
}

// B38
test("a node that serves goes on trying a target that was down at its start, and joins it when it appears", async () => {
  hosts.set("late", refuse);
  const { loop, joined } = loopFor([target("late")]);
  await loop.round(true, stop.signal);
  const running = loop.run(stop.signal);
  await clock.advance(120_000);
  expect(joined).toEqual([]);
  hosts.set("late", async () => answer);
  await clock.advance(31_000);
  expect(joined).toEqual([["127.0.0.1:7946"]]);
  stop.abort(new Error("test over"));
  await expect(running).rejects.toThrow("test over");
});

test("a target that was reached is asked again when the node finds itself alone", async () => {
  let alone = false;
  hosts.set("a", async () => answer);
  const { loop, joined } = loopFor([target("a")], { alone: () => alone });
  const running = loop.run(stop.signal);
  await clock.advance(5000);
  expect(joined).toHaveLength(1);
  alone = true;
  await clock.advance(1000);
  expect(joined.length).toBeGreaterThan(1);
  stop.abort(new Error("test over"));
  await expect(running).rejects.toThrow("test over");
});

// B43
test("once the node serves, a target of another cluster is refused and counted, and the node goes on", async () => {
  hosts.set("other", async () => ({ ...answer, clusterId: "ff".repeat(16) }));
  const { loop, joined, refusals } = loopFor([target("other")]);
  await expect(loop.round(true, stop.signal)).rejects.toMatchObject({ code: "cluster_mismatch" });
  await loop.round(false, stop.signal);
  expect(refusals()).toBe(1);
  expect(joined).toEqual([]);
});

test("a target that turns out to be this node counts as reached", async () => {
  hosts.set("mirror", async () => ({ ...answer, node: "me" }));
  const { loop, joined } = loopFor([target("mirror")]);
  await loop.round(true, stop.signal);
  await loop.round(true, stop.signal);
  expect(asked).toHaveLength(1);
  expect(joined).toEqual([]);
});

// B35
test("another live node of this name ends a start, but never a node that serves", async () => {
  hosts.set("a", async () => answer);
  const taken = () => {
    throw new CodedError("failed_precondition", "another live node uses this name");
  };
  const { loop } = loopFor([target("a")], { joining: taken });
  await expect(loop.round(true, stop.signal)).rejects.toMatchObject({ code: "failed_precondition" });
  await loop.round(false, stop.signal);
});

test("a target that never answers does not keep a lonely node from the others", async () => {
  let alone = false;
  hosts.set("a", async () => answer).set("never", refuse);
  const { loop, joined } = loopFor([target("a"), target("never")], { alone: () => alone });
  const running = loop.run(stop.signal);
  await clock.advance(5000);
  expect(joined).toHaveLength(1);
  alone = true;
  await clock.advance(31_000);
  expect(joined.length).toBeGreaterThan(1);
  stop.abort(new Error("test over"));
  await expect(running).rejects.toThrow("test over");
});

test("stopping ends the search for a cluster at once", async () => {
  hosts.set("down", refuse);
  const found = findCluster([target("down")], deps, () => {}, stop.signal);
  await clock.advance(10_000);
  stop.abort(new Error("stopped"));
  await expect(found).rejects.toThrow("stopped");
});
