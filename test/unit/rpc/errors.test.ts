import { Metadata, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { messageCodec } from "../../../src/proto/index.ts";
import { callStatusOf, grpcStatusOf, RedirectStatus } from "../../../src/rpc/errors.ts";

test("an error that only says where another passed keeps the other's code", () => {
  const inner = new CodedError("repository_not_found", "repository not found");
  const outer = new CodedError("invalid_argument", "cannot list refs", {}, { cause: inner });
  expect(callStatusOf(outer, "")).toMatchObject({ code: status.NOT_FOUND, message: "repository not found" });
  expect(callStatusOf(new Error("wrapped", { cause: outer }), "").code).toBe(status.NOT_FOUND);
});

test("an error that means more than its cause keeps its own code", () => {
  const late = new CodedError("deadline_exceeded", "deadline passed");
  const away = new CodedError("store_unavailable", "the store does not answer", {}, { cause: late });
  expect(callStatusOf(away, "").code).toBe(status.UNAVAILABLE);
  const gone = new CodedError("artifact_missing", "an artifact is gone", {}, { cause: new CodedError("not_found", "no such object") });
  expect(callStatusOf(gone, "").code).toBe(status.DATA_LOSS);
});

// B93
test("an unknown outcome is never a status that clients repeat by themselves", () => {
  const unknown = new CodedError("outcome_unknown", "fetch and compare", {}, { cause: new CodedError("store_unavailable", "away") });
  expect(callStatusOf(unknown, "").code).toBe(status.ABORTED);
  const wrapped = new CodedError("store_unavailable", "push failed", {}, { cause: unknown });
  expect(callStatusOf(wrapped, "").code).toBe(status.ABORTED);
});

test("nothing of an unknown error reaches the client, and a loop of causes ends", () => {
  const loop = new Error("/home/user/.secret");
  loop.cause = loop;
  expect(callStatusOf(loop, "id-1")).toEqual({ code: status.INTERNAL, message: "internal error, correlation id id-1", details: [] });
  expect(callStatusOf(undefined, "id-2").code).toBe(status.INTERNAL);
});

// B90, B91
test("messages become one well-formed, short line", () => {
  const { message } = callStatusOf(new CodedError("not_found", `a\nb\u0000${"é".repeat(5000)}\ud800`), "");
  expect(message.startsWith("a b é")).toBe(true);
  expect(message.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1030);
  expect(() => encodeURI(message)).not.toThrow();
});

test("a redirect stays below 8 KiB as it is sent, keeping the first owners", () => {
  const owners = Array.from({ length: 30 }, (_, i) => ({
    node: `n${i}-${"x".repeat(125)}`,
    address: `grpc://${"h".repeat(250)}:1`,
    zone: "z",
  }));
  const { details, code } = callStatusOf(new RedirectStatus("elsewhere ".repeat(200), { owners, ringFingerprint: "0123456789abcdef" }), "");
  expect(code).toBe(status.FAILED_PRECONDITION);
  const { metadata } = grpcStatusOf({ code, message: "é".repeat(500), details }, new Metadata());
  const encoded = metadata.get("grpc-status-details-bin")[0] as Buffer;
  expect(encoded.toString("base64").length).toBeLessThan(8 * 1024);
  expect(encoded.length).toBeGreaterThan(4 * 1024);
  const redirect = messageCodec<object, { owners: { node: string }[] }>("gitaly_gossip.v1.RedirectError").decode(
    details[0]?.bytes ?? Buffer.alloc(0),
  );
  expect(redirect.owners.length).toBeGreaterThan(5);
  expect(redirect.owners[0]?.node).toBe(owners[0]?.node);
});

test("the status keeps what a handler put into the trailers", () => {
  const trailer = new Metadata();
  trailer.set("gitaly-consistency", "token");
  const { metadata } = grpcStatusOf(callStatusOf(new CodedError("conflict", "changed"), ""), trailer);
  expect(metadata.get("gitaly-consistency")).toEqual(["token"]);
  expect(metadata.get("grpc-status-details-bin")).toEqual([]);
});
