import { CodedError, startDeadline } from "../base/index.ts";
import type { CliClient } from "./client.ts";
import type { CliContext } from "./context.ts";
import { UsageError } from "./errors.ts";

/** How commands reach a node. */
export interface AddrOptions {
  readonly addr: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

const address = /^(http|https|grpc|grpcs):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?\/?$/;
const defaultPort = 8075;
const commandTimeoutMs = 60_000;

/** Runs `fn` with a client for the node that the options name, for at most 60 s in all. */
export async function withClient<T>(
  options: AddrOptions,
  context: CliContext,
  fn: (client: CliClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (options.tokenFile !== undefined) {
    throw new CodedError("not_built_yet", "authentication by token is not built yet", { flag: "--token-file" });
  }
  const target = normalizeAddress(options.addr);
  using deadline = startDeadline(context.deps.clock, commandTimeoutMs, context.signal);
  await using client = context.deps.connect(target);
  return await fn(client, deadline.signal);
}

/** `grpc://HOST:PORT` of a node, from the forms that `--addr` accepts. */
export function normalizeAddress(text: string): string {
  const [, scheme, host, digits] = address.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (scheme === undefined || host === undefined || port < 1 || port > 65535) {
    throw new UsageError("--addr must be http://HOST[:PORT] or grpc://HOST[:PORT]", "for example --addr http://127.0.0.1:8075");
  }
  if (scheme === "https" || scheme === "grpcs") throw new CodedError("not_built_yet", "TLS is not built yet", { flag: "--addr" });
  return `grpc://${host}:${port}`;
}
