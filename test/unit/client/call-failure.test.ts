import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { failureError, readFailure } from "../../../src/client/call-failure.ts";
import { messageCodec } from "../../../src/proto/index.ts";

function serviceError(code: status, details: string, bytes?: Uint8Array): ServiceError {
  const metadata = new Metadata();
  if (bytes) metadata.set("grpc-status-details-bin", Buffer.from(bytes));
  return Object.assign(new Error(details), { code, details, metadata });
}

const encodeStatus = (details: object[]) => messageCodec<object, object>("google.rpc.Status").encode({ details });

test("details are decoded by their type; unknown types keep their bytes", () => {
  const retry = messageCodec<object, object>("google.rpc.RetryInfo").encode({ retryDelay: { seconds: 2, nanos: 500_000_000 } });
  const bytes = encodeStatus([
    { type_url: "type.googleapis.com/google.rpc.RetryInfo", value: retry },
    { type_url: "type.googleapis.com/gitaly.FindTagError", value: Buffer.from([1]) },
  ]);
  const failure = readFailure(serviceError(status.UNAVAILABLE, "later", bytes));
  expect(failure.retryAfterMs).toBe(2500);
  expect(failure.details[1]).toEqual({ type: "gitaly.FindTagError", value: { bytes: Buffer.from([1]) } });
  const error = failureError(failure, { method: "m" });
  expect([error.code, error.message, error.retryAfterMs, error.fields["grpcCode"]]).toEqual([
    "node_unavailable",
    "later",
    2500,
    status.UNAVAILABLE,
  ]);
});

test("a redirect counts only with its status code", () => {
  const value = messageCodec<object, object>("gitaly_gossip.v1.RedirectError").encode({ owners: [{ node: "n", address: "a" }] });
  const bytes = encodeStatus([{ type_url: "type.googleapis.com/gitaly_gossip.v1.RedirectError", value }]);
  expect(readFailure(serviceError(status.FAILED_PRECONDITION, "", bytes)).redirect?.owners).toHaveLength(1);
  expect(readFailure(serviceError(status.NOT_FOUND, "", bytes)).redirect).toBeUndefined();
});

test("details of any bytes are read without an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 100 }), (bytes, inner) => {
      expect(readFailure(serviceError(status.FAILED_PRECONDITION, "x", bytes)).message).toBe("x");
      const wrapped = encodeStatus([{ type_url: "gitaly_gossip.v1.RedirectError", value: inner }]);
      readFailure(serviceError(status.FAILED_PRECONDITION, "x", wrapped));
    }),
  );
});
