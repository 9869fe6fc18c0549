import { expect, test } from "vitest";
import { listChanges, mergeAnswer } from "../../../../src/db/discovery/server-list.ts";
import { type DiscoveredServer, serverKey, tidyServers } from "../../../../src/db/discovery/source.ts";

const server = (host: string, role?: "primary" | "replica"): DiscoveredServer => ({ host, port: 5432, ...(role ? { role } : {}) });
const options = { minReplicas: 1 };
const all = () => true;
const hosts = (listed: readonly { server: DiscoveredServer }[]) => listed.map((entry) => entry.server.host);

test("what an answer lacks goes with the second answer in a row that lacks it", () => {
  const first = mergeAnswer([], [server("a"), server("b")], options, all);
  const second = mergeAnswer(first, [server("a")], options, all);
  expect(hosts(second)).toEqual(["a", "b"]);
  expect(hosts(mergeAnswer(second, [server("a")], options, all))).toEqual(["a"]);
  const back = mergeAnswer(second, [server("a"), server("b")], options, all);
  expect(hosts(mergeAnswer(back, [server("a")], options, all))).toEqual(["a", "b"]);
});

test("the last usable replicas stay, whatever discovery says, until others are usable", () => {
  const usable = new Set(["old-1:5432", "old-2:5432"]);
  const isUsable = (key: string) => usable.has(key);
  let listed = mergeAnswer([], [server("old-1"), server("old-2")], options, isUsable);
  for (let i = 0; i < 5; i++) listed = mergeAnswer(listed, [server("new"), server("the-primary", "primary")], options, isUsable);
  expect(hosts(listed)).toEqual(["new", "the-primary", "old-1"]);
  usable.add("new:5432");
  expect(hosts(mergeAnswer(listed, [server("new")], options, isUsable))).not.toContain("old-1");
});

test("replicas that do not answer themselves are not kept for the minimum", () => {
  const first = mergeAnswer([], [server("dead")], options, () => false);
  const second = mergeAnswer(first, [server("new")], options, () => false);
  expect(hosts(mergeAnswer(second, [server("new")], options, () => false))).toEqual(["new"]);
});

test("roles follow the newest answer, and a primary that is missing from it is not called one", () => {
  const first = mergeAnswer([], [server("a", "primary"), server("b", "replica")], options, all);
  const second = mergeAnswer(first, [server("b", "primary")], options, all);
  expect(second.map((entry) => entry.server.role)).toEqual(["primary", undefined]);
  expect(mergeAnswer(first, [server("a", "primary")], options, all)[1]?.server.role).toBe("replica");
});

test("changes are told by host and port", () => {
  expect(listChanges([server("a"), server("b")], [server("b"), server("fd00::1")])).toEqual({
    added: ["[fd00::1]:5432"],
    removed: ["a:5432"],
  });
});

test("names and ports that cannot be are left out, and nobody is named twice", () => {
  const odd = ["", "a b", "a/b", "user@host", "a,b", "-a", "x".repeat(254), null as unknown as string].map((host) => server(host));
  const ports = [0, -1, 65_536, 1.5, Number.NaN].map((port) => ({ host: "a", port }));
  const good = [server("10.0.0.1"), server("fd00::1"), server("a.b-c_d.example."), server("localhost")];
  expect(tidyServers([...odd, ...ports, ...good, server("LOCALHOST")])).toEqual(good);
  expect(serverKey(server("LocalHost"))).toBe("localhost:5432");
});
