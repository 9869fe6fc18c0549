import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { noMetrics } from "../../../src/observability/index.ts";
import { methodRoute } from "../../../src/proto/index.ts";
import { Ring } from "../../../src/ring/index.ts";
import type { MemberInfo, MemberView } from "../../../src/routing/index.ts";
import { RedirectStatus } from "../../../src/rpc/errors.ts";
import { redirect } from "../../../src/rpc/interceptors/redirect.ts";
import type { ServerCall } from "../../../src/rpc/server-call.ts";
import { memberOf } from "../../support/rpc-nodes.ts";

const repository = { storageName: "default", relativePath: "a.git" };

function callOf(
  metadata: Record<string, string>,
  first: object | undefined = { repository },
  method = "gitaly.RefService/ListRefs",
): ServerCall {
  return {
    method: { name: method, service: "", shortName: "", type: "server_stream", route: methodRoute(method) },
    metadata: Object.entries(metadata).reduce((all, [key, value]) => {
      all.set(key, value);
      return all;
    }, new Metadata()),
    peer: "",
    signal: new AbortController().signal,
    first: async () => first,
    header: new Metadata(),
    trailer: new Metadata(),
    repository: undefined,
    correlationId: "",
    maxStalenessMs: undefined,
    received: 0,
    sent: 0,
  };
}

function viewOf(owners: string[], members: MemberInfo[]): MemberView {
  return {
    self: "n1",
    members,
    ring: new Ring(
      owners.map((name) => ({ name, weight: 1 })),
      { replicas: owners.length },
    ),
  };
}

async function outcome(call: ServerCall, view: MemberView, unawareClients: "serve" | "refuse" = "serve", replicas?: number) {
  let served = false;
  const interceptor = redirect(
    { unawareClients },
    { view: () => view, replicasOf: () => replicas, storageName: "default", metrics: noMetrics },
  );
  try {
    await interceptor(call, async () => {
      served = true;
    });
    return served ? "served" : "lost";
  } catch (error) {
    if (error instanceof RedirectStatus) return error.redirect.owners?.map(({ node, address }) => `${node} ${address}`);
    return CodedError.is(error) ? `${error.code}: ${error.message}` : error;
  }
}

const n2 = memberOf("n2", "10.0.0.2:8075");
const n3 = { ...memberOf("n3", "10.0.0.3:8075"), grpcTls: true };
const follow = { "gitaly-redirect": "follow" };

test("only callers that follow are redirected, and not for ever", async () => {
  const view = viewOf(["n2"], [memberOf("n1", "10.0.0.1:8075"), n2]);
  expect(await outcome(callOf(follow), view)).toEqual(["n2 grpc://10.0.0.2:8075"]);
  expect(await outcome(callOf({ ...follow, "gitaly-redirect-hops": "1" }), view)).toEqual(["n2 grpc://10.0.0.2:8075"]);
  expect(await outcome(callOf({ ...follow, "gitaly-redirect-hops": "2" }), view)).toBe("served");
  expect(await outcome(callOf({}), view)).toBe("served");
  expect(await outcome(callOf({}), view, "refuse")).toEqual(["n2 grpc://10.0.0.2:8075"]);
});

test("suspect owners come last, and members without an address are left out", async () => {
  const view = viewOf(["n2", "n3"], [{ ...n2, status: "suspect" }, n3]);
  expect(await outcome(callOf(follow), view)).toEqual(["n3 grpcs://10.0.0.3:8075", "n2 grpc://10.0.0.2:8075"]);
  expect(await outcome(callOf(follow), viewOf(["n4"], [memberOf("n4", "")]))).toBe("served");
});

test("the call's own k goes before the repository's", async () => {
  const view = viewOf(["n2", "n3"], [n2, n3]);
  expect(await outcome(callOf(follow), view, "serve", 1)).toHaveLength(1);
  expect(await outcome(callOf({ ...follow, "gitaly-replicas": "2" }), view, "serve", 1)).toHaveLength(2);
  expect(await outcome(callOf({ ...follow, "gitaly-replicas": "0" }), view)).toMatch(/^invalid_argument: metadata gitaly-replicas/);
  expect(await outcome(callOf({ ...follow, "gitaly-redirect-hops": "1e9" }), view)).toMatch(
    /^invalid_argument: metadata gitaly-redirect-hops/,
  );
});

test("a stream that ends before its first message is refused where a repository is needed", async () => {
  const call = callOf(follow);
  const empty: ServerCall = { ...call, first: async () => undefined };
  expect(await outcome(empty, viewOf(["n2"], [n2]))).toBe("invalid_argument: repository not set");
});

test("calls about the node are served where they land, without a look at their messages", async () => {
  const call: ServerCall = {
    ...callOf(follow, undefined, "gitaly.ServerService/ServerInfo"),
    first: () => Promise.reject(new Error("not read")),
  };
  expect(await outcome(call, viewOf(["n2"], [n2]))).toBe("served");
});
