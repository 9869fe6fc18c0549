import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type Code, CodedError } from "../base/index.ts";
import type { LimitError__Output } from "../proto/gen/gitaly/LimitError.ts";
import type { RedirectError__Output } from "../proto/gen/gitaly_gossip/v1/RedirectError.ts";
import type { Duration__Output } from "../proto/gen/google/protobuf/Duration.ts";
import type { RetryInfo__Output } from "../proto/gen/google/rpc/RetryInfo.ts";
import type { Status__Output } from "../proto/gen/google/rpc/Status.ts";
import { messageCodec } from "../proto/index.ts";

/** A status other than OK, with what its details say. */
export interface CallFailure {
  readonly grpcCode: status;
  readonly message: string;
  /** Name of the node that ended the call; "" where the status is not from a node. */
  readonly node: string;
  readonly redirect: RedirectError__Output | undefined;
  readonly retryAfterMs: number | undefined;
  /** Decoded details by full message name; those of unknown types have their bytes. */
  readonly details: readonly { readonly type: string; readonly value: object }[];
}

const codeOf: Partial<Record<status, Code>> = {
  [status.CANCELLED]: "cancelled",
  [status.INVALID_ARGUMENT]: "invalid_argument",
  [status.OUT_OF_RANGE]: "invalid_argument",
  [status.DEADLINE_EXCEEDED]: "deadline_exceeded",
  [status.NOT_FOUND]: "not_found",
  [status.ALREADY_EXISTS]: "repository_exists",
  [status.PERMISSION_DENIED]: "permission_denied",
  [status.RESOURCE_EXHAUSTED]: "limit_exceeded",
  [status.FAILED_PRECONDITION]: "failed_precondition",
  [status.ABORTED]: "conflict",
  [status.UNIMPLEMENTED]: "not_built_yet",
  [status.UNAVAILABLE]: "node_unavailable",
  [status.DATA_LOSS]: "corrupt",
  [status.UNAUTHENTICATED]: "unauthenticated",
};

const statusCodec = messageCodec<object, Status__Output>("google.rpc.Status");
const decoders: Readonly<Record<string, (bytes: Uint8Array) => object>> = Object.fromEntries(
  ["gitaly_gossip.v1.RedirectError", "gitaly.LimitError", "google.rpc.RetryInfo"].map((type) => [type, messageCodec(type).decode]),
);

/** Reads the status that grpc-js reports as an error. Details that cannot be decoded are left out. */
export function readFailure(error: ServiceError): CallFailure {
  const details = detailsIn(error.metadata);
  const find = <T>(type: string) => details.find((detail) => detail.type === type)?.value as T | undefined;
  const delay = find<RetryInfo__Output>("google.rpc.RetryInfo")?.retryDelay ?? find<LimitError__Output>("gitaly.LimitError")?.retryAfter;
  return {
    grpcCode: error.code,
    message: error.details,
    node: textIn(error.metadata, "gitaly-node"),
    redirect: error.code === status.FAILED_PRECONDITION ? find("gitaly_gossip.v1.RedirectError") : undefined,
    retryAfterMs: delay ? millisecondsOf(delay) : undefined,
    details,
  };
}

/** The failure as an error for callers; `code` where more is known than the status says. */
export function failureError(failure: CallFailure, fields: Readonly<Record<string, unknown>>, code?: Code): CodedError {
  const { grpcCode, message, node, details, retryAfterMs } = failure;
  return new CodedError(
    code ?? codeOf[grpcCode] ?? "internal",
    message,
    { ...fields, grpcCode, ...(node === "" ? {} : { node }), details },
    retryAfterMs === undefined ? {} : { retryAfterMs },
  );
}

/** A metadata value as text; "" where it is absent. */
export function textIn(metadata: Metadata | undefined, key: string): string {
  const value = metadata?.get(key)[0];
  return typeof value === "string" ? value : "";
}

function detailsIn(metadata: Metadata | undefined): CallFailure["details"] {
  const encoded = metadata?.get("grpc-status-details-bin")[0];
  if (!(encoded instanceof Uint8Array)) return [];
  return (quietly(() => statusCodec.decode(encoded))?.details ?? []).flatMap(({ type_url: url, value: bytes }) => {
    const type = url.slice(url.lastIndexOf("/") + 1);
    const decode = decoders[type];
    const value = decode ? quietly(() => decode(bytes)) : { bytes };
    return value ? [{ type, value }] : [];
  });
}

function quietly<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

function millisecondsOf({ seconds, nanos }: Duration__Output): number {
  return Math.max(0, Number(seconds) * 1000 + nanos / 1e6);
}
