import { type Metadata, status } from "@grpc/grpc-js";
import { type Code, CodedError } from "../base/index.ts";
import type { LimitError } from "../proto/gen/gitaly/LimitError.ts";
import type { RedirectError } from "../proto/gen/gitaly_gossip/v1/RedirectError.ts";
import type { RetryInfo } from "../proto/gen/google/rpc/RetryInfo.ts";
import type { Status } from "../proto/gen/google/rpc/Status.ts";
import { messageCodec } from "../proto/index.ts";

/** How a call ends. */
export interface CallStatus {
  readonly code: status;
  readonly message: string;
  /** Full message name and encoding of each detail. */
  readonly details: readonly { readonly type: string; readonly bytes: Uint8Array }[];
}

const statusOf: Readonly<Record<Code, status>> = {
  invalid_argument: status.INVALID_ARGUMENT,
  invalid_path: status.INVALID_ARGUMENT,
  protocol_error: status.INVALID_ARGUMENT,
  repository_not_found: status.NOT_FOUND,
  not_found: status.NOT_FOUND,
  repository_exists: status.ALREADY_EXISTS,
  failed_precondition: status.FAILED_PRECONDITION,
  store_refuses_writes: status.FAILED_PRECONDITION,
  git_failed: status.FAILED_PRECONDITION,
  bad_config: status.FAILED_PRECONDITION,
  data_dir_in_use: status.FAILED_PRECONDITION,
  cluster_mismatch: status.FAILED_PRECONDITION,
  conflict: status.ABORTED,
  // Not UNAVAILABLE, which clients repeat without asking.
  outcome_unknown: status.ABORTED,
  corrupt: status.DATA_LOSS,
  artifact_missing: status.DATA_LOSS,
  store_unavailable: status.UNAVAILABLE,
  database_unavailable: status.UNAVAILABLE,
  node_unavailable: status.UNAVAILABLE,
  redirect_exhausted: status.UNAVAILABLE,
  limit_exceeded: status.RESOURCE_EXHAUSTED,
  deadline_exceeded: status.DEADLINE_EXCEEDED,
  cancelled: status.CANCELLED,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  not_built_yet: status.UNIMPLEMENTED,
  write_inside_read_only_transaction: status.INTERNAL,
  internal: status.INTERNAL,
};

/** Codes that only say where an error passed: a more precise code of their cause is kept. */
const weak: ReadonlySet<Code> = new Set(["internal", "invalid_argument", "failed_precondition", "git_failed", "protocol_error"]);

const maxMessageBytes = 1024;
/** 8 KiB less a few bytes once they are base64. grpc-js leaves a call without an answer where trailers grow past 64 KiB. */
const maxDetailsBytes = 6 * 1024 - 12;
const defaultRetryMs = 1000;

const statusCodec = messageCodec<Status, object>("google.rpc.Status");
const limitCodec = messageCodec<LimitError, object>("gitaly.LimitError");
const retryCodec = messageCodec<RetryInfo, object>("google.rpc.RetryInfo");
const redirectCodec = messageCodec<RedirectError, object>("gitaly_gossip.v1.RedirectError");

/** Ends a call elsewhere: the owners travel in the status. */
export class RedirectStatus extends Error {
  readonly redirect: RedirectError;

  constructor(message: string, redirect: RedirectError) {
    super(message);
    this.redirect = redirect;
  }
}

/** The status that a call which failed with `error` ends with. Nothing of an unknown error reaches the client. */
export function callStatusOf(error: unknown, correlationId: string): CallStatus {
  if (error instanceof RedirectStatus) {
    const details = [{ type: "gitaly_gossip.v1.RedirectError", bytes: encodeRedirect(error.redirect) }];
    return { code: status.FAILED_PRECONDITION, message: clipped(error.message), details };
  }
  const coded = decisiveError(error);
  if (!coded) return { code: status.INTERNAL, message: `internal error, correlation id ${correlationId}`, details: [] };
  const code = statusOf[coded.code];
  const message = clipped(coded.message);
  const retryMs = coded.retryAfterMs ?? defaultRetryMs;
  const delay = { seconds: Math.floor(retryMs / 1000), nanos: Math.round((retryMs % 1000) * 1e6) };
  if (code === status.UNAVAILABLE) {
    return { code, message, details: [{ type: "google.rpc.RetryInfo", bytes: retryCodec.encode({ retryDelay: delay }) }] };
  }
  if (code === status.RESOURCE_EXHAUSTED) {
    const bytes = limitCodec.encode({ errorMessage: message, retryAfter: delay });
    return { code, message, details: [{ type: "gitaly.LimitError", bytes }] };
  }
  return { code, message, details: [] };
}

/** With as many owners as leave room for the rest of the status; the first always fits. */
function encodeRedirect({ owners = [], ...rest }: RedirectError): Uint8Array {
  const room = maxDetailsBytes - maxMessageBytes - 256;
  for (let count = owners.length; ; count--) {
    const bytes = redirectCodec.encode({ ...rest, owners: owners.slice(0, count) });
    if (bytes.length <= room || count <= 1) return bytes;
  }
}

/** What grpc-js ends a call with; `trailer` is added to. */
export function grpcStatusOf(callStatus: CallStatus, trailer: Metadata): { code: status; details: string; metadata: Metadata } {
  const { code, message, details } = callStatus;
  const metadata = trailer.clone();
  if (details.length > 0) {
    const anys = details.map(({ type, bytes }) => ({ type_url: `type.googleapis.com/${type}`, value: Buffer.from(bytes) }));
    const encoded = statusCodec.encode({ code, message, details: anys });
    if (encoded.length <= maxDetailsBytes) metadata.set("grpc-status-details-bin", encoded);
  }
  return { code, details: message, metadata };
}

/** The error of the chain of causes whose code the client gets. */
export function decisiveError(error: unknown): CodedError | undefined {
  const chain: CodedError[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (CodedError.is(at)) chain.push(at);
  }
  return chain.find(({ code }) => code === "outcome_unknown") ?? chain.find(({ code }) => !weak.has(code)) ?? chain.at(-1);
}

/** Well-formed, one line, and short enough for a header once it is percent-encoded. */
function clipped(message: string): string {
  const line = message.toWellFormed().replaceAll(/\p{Cc}+/gu, " ");
  if (Buffer.byteLength(line) <= maxMessageBytes) return line;
  return `${Buffer.from(line)
    .subarray(0, maxMessageBytes)
    .toString("utf8")
    .replace(/\ufffd+$/u, "")}…`;
}
