import { expect, test } from "vitest";
import { methodRoute, valueAt } from "../../../src/proto/index.ts";

test("the proto options say where a method's calls belong", () => {
  const repository = ["repository"];
  expect(methodRoute("gitaly.RefService/ListRefs")).toEqual({ kind: "read", intercepted: false, target: repository });
  expect(methodRoute("gitaly.SmartHTTPService/PostReceivePack")).toEqual({ kind: "write", intercepted: false, target: repository });
  expect(methodRoute("gitaly.RepositoryService/RemoveRepository").kind).toBe("write");
  expect(methodRoute("gitaly.ServerService/ServerInfo")).toEqual({ kind: "read", intercepted: true, target: undefined });
  // It has a repository, but asks the node about its view.
  expect(methodRoute("gitaly_gossip.v1.ClusterService/Route")).toEqual({ kind: "read", intercepted: true, target: undefined });
  expect(methodRoute("grpc.health.v1.Health/Check").target).toBeUndefined();
  expect(() => methodRoute("gitaly.RefService/NoSuchMethod")).toThrow(TypeError);
});

test("a value is found through nested messages, or not at all", () => {
  expect(valueAt({ header: { repository: "r" } }, ["header", "repository"])).toBe("r");
  expect(valueAt({ header: null }, ["header", "repository"])).toBeUndefined();
  expect(valueAt({}, ["repository"])).toBeUndefined();
});
