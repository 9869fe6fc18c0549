import { expect, test } from "vitest";
import { type GossipRecord, MemberViews, toMemberView } from "../../../src/server/member-view.ts";
import { encodeNodeMeta, type NodeState } from "../../../src/server/node-meta.ts";

const settings = { replicas: 2, hashSeed: 0n };

function record(name: string, state: GossipRecord["state"], node: NodeState | undefined, weight = 1): GossipRecord {
  const meta = node
    ? encodeNodeMeta({
        grpcAddress: `${name}:1`,
        httpUrl: `http://${name}:2`,
        weight,
        zone: "z",
        state: node,
        version: "1",
        clusterId: "ab".repeat(16),
      })
    : new Uint8Array();
  return { name, host: "10.0.0.1", port: 7946, meta, state };
}

test("only nodes that are ready own repositories, suspects among them included", () => {
  const view = toMemberView(
    "b",
    [
      record("f", "left", "ready"),
      record("e", "dead", "ready"),
      record("d", "alive", undefined),
      record("c", "suspect", "ready"),
      record("b", "alive", "ready"),
      record("a", "alive", "warming"),
      record("g", "alive", "draining"),
      record("h", "suspect", "draining"),
    ],
    settings,
  );
  expect(view.members.map(({ name, status }) => [name, status])).toEqual([
    ["a", "warming"],
    ["b", "ready"],
    ["c", "suspect"],
    ["d", "alive"],
    ["e", "failed"],
    ["f", "left"],
    ["g", "draining"],
    ["h", "suspect"],
  ]);
  expect(view.ring.sites.map(({ name }) => name)).toEqual(["b", "c"]);
  expect(view.ring.replicas).toBe(2);
});

test("a node of weight zero serves what reaches it and owns nothing", () => {
  expect(toMemberView("a", [record("a", "alive", "ready", 0)], settings).ring.sites).toEqual([]);
});

test("views built from the same members in another order have one fingerprint", () => {
  const records = [record("a", "alive", "ready"), record("b", "alive", "ready", 3)];
  expect(toMemberView("a", records, settings).ring.fingerprint).toBe(toMemberView("b", [...records].reverse(), settings).ring.fingerprint);
});

test("listeners hear of each new view until they are disposed", () => {
  const views = new MemberViews("a");
  const seen: number[] = [];
  const subscription = views.onChange(() => seen.push(views.current.members.length));
  views.publish(toMemberView("a", [record("a", "alive", "ready")], settings));
  subscription[Symbol.dispose]();
  views.publish(toMemberView("a", [], settings));
  expect(seen).toEqual([1]);
});
