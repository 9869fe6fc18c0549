import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { parseAddress } from "../../../src/client/address.ts";
import { CallRoute, type Target } from "../../../src/client/call-route.ts";

const [a, b, c] = ["a:1", "b:1", "c:1"].map(parseAddress) as [
  ReturnType<typeof parseAddress>,
  ReturnType<typeof parseAddress>,
  ReturnType<typeof parseAddress>,
];
const down = new CodedError("node_unavailable", "down");
const redirectTo = (...addresses: string[]) => ({
  owners: addresses.map((address) => ({ node: address, address, zone: "" })),
  ringFingerprint: "f",
});
const shown = ({ address, hops, reconnect }: Target) => `${address.url} ${hops}${reconnect ? " again" : ""}`;

function thrownBy(fn: () => unknown): CodedError {
  try {
    fn();
  } catch (error) {
    if (CodedError.is(error)) return error;
  }
  throw new Error("a CodedError was expected");
}

test("remembered owners are asked before the given addresses, each address once", () => {
  const route = new CallRoute(5, [b], [a, b]);
  const asked = [route.next(), route.next()];
  expect(asked.map(shown)).toEqual(["grpc://b:1 0", "grpc://a:1 0"]);
  for (const target of asked) route.failed(target, down);
  const error = thrownBy(() => route.next());
  expect([error.code, error.fields["addresses"], error.cause]).toEqual(["node_unavailable", ["grpc://b:1", "grpc://a:1"], down]);
});

test("what the last node said about itself is the error", () => {
  const route = new CallRoute(5, [], [a]);
  const told = new CodedError("node_unavailable", "the node is warming up", { node: "a" }, { retryAfterMs: 700 });
  route.failed(route.next(), told);
  expect(thrownBy(() => route.next())).toBe(told);
});

test("owners are tried in order, then the node that named them serves", () => {
  const route = new CallRoute(5, [], [a]);
  route.redirected(route.next(), "a", redirectTo("grpc://b:1", "grpc://c:1"));
  for (const expected of ["grpc://b:1 1", "grpc://c:1 1"]) {
    const target = route.next();
    expect(shown(target)).toBe(expected);
    route.failed(target, down);
  }
  const last = route.next();
  expect(shown(last)).toBe("grpc://a:1 2");
  route.failed(last, down);
  const error = thrownBy(() => route.next());
  expect(error.code).toBe("redirect_exhausted");
  expect(error.fields["hops"]).toEqual(["grpc://a:1", "grpc://b:1", "grpc://c:1", "grpc://a:1"]);
});

test("an owner that has failed in this call is not asked again", () => {
  const route = new CallRoute(5, [b], [a]);
  route.failed(route.next(), down);
  expect(route.redirected(route.next(), "a", redirectTo("grpc://b:1", "grpc://c:1"))).toEqual([b, c]);
  expect(shown(route.next())).toBe("grpc://c:1 1");
});

test("a redirect to the node itself, by name or address, is tried once more and then refused", () => {
  for (const [node, address] of [
    ["n1", "localhost:9"],
    ["", "a:1"],
  ] as const) {
    const route = new CallRoute(5, [], [a]);
    const toItself = { owners: [{ node: "n1", address: `grpc://${address}`, zone: "" }], ringFingerprint: "f" };
    route.redirected(route.next(), node, toItself);
    const again = route.next();
    expect(shown(again)).toBe("grpc://a:1 1 again");
    expect(thrownBy(() => route.redirected(again, node, toItself)).message).toBe("a node redirects to itself");
  }
});

test("addresses that a node made up are skipped", () => {
  const route = new CallRoute(5, [], [a]);
  expect(route.redirected(route.next(), "a", redirectTo("", "file:///etc/passwd", "grpc://b:1"))).toEqual([b]);
});

test("redirects beyond the limit are refused", () => {
  const route = new CallRoute(1, [], [a]);
  route.redirected(route.next(), "a", redirectTo("grpc://b:1"));
  const second = route.next();
  expect(thrownBy(() => route.redirected(second, "b", redirectTo("grpc://c:1"))).code).toBe("redirect_exhausted");
});
