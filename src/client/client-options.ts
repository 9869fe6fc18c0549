export interface ClientOptions {
  /** Nodes to ask first, in order: http://, https://, grpc://, grpcs:// or HOST[:PORT]; port 8075 where none is given. */
  readonly addresses: string | readonly string[];
  /** What `GitalyClient.consistency` of another client was: this one sees at least what that one saw. Default: nothing. */
  readonly consistency?: string;
  /** Shared secret of the cluster. Not built yet: giving one is refused. */
  readonly token?: string;
  /** For a call with one request and one response, in milliseconds. Default 30 s. */
  readonly deadlineMs: number;
  /** For a streaming call, in milliseconds. Default 6 hours: a clone takes what it takes, and dead peers show earlier. */
  readonly streamDeadlineMs: number;
  /** How long one node may take to accept a connection, in milliseconds. Default 3 s. */
  readonly connectTimeoutMs: number;
  /** How long one node may take to say that it has the call, in milliseconds. Default 10 s. */
  readonly answerTimeoutMs: number;
  /** Redirects that one call follows. Default 5. */
  readonly maxHops: number;
  /** Repositories whose owners are remembered. Default 10,000. */
  readonly maxRememberedRepositories: number;
  /** Nodes to which connections are kept. Default 128. */
  readonly maxConnections: number;
  /** What a node may send before it waits for us, in bytes. Default 4 MiB. */
  readonly windowBytes: number;
  /** Size of one response message, in bytes. Default 4 MiB, as every gRPC library has it. */
  readonly maxReceiveBytes: number;
  /** How long a connection with running calls may be silent before it is probed, in milliseconds. Default 20 s. */
  readonly keepaliveMs: number;
}

/** The defaults that the options name. */
export const defaultClientOptions: Omit<ClientOptions, "addresses"> = {
  deadlineMs: 30_000,
  streamDeadlineMs: 6 * 3_600_000,
  connectTimeoutMs: 3000,
  answerTimeoutMs: 10_000,
  maxHops: 5,
  maxRememberedRepositories: 10_000,
  maxConnections: 128,
  windowBytes: 4 * 1024 * 1024,
  maxReceiveBytes: 4 * 1024 * 1024,
  keepaliveMs: 20_000,
};

/** Which node has a call. */
export interface CallInfo {
  /** Name of the node; "" where it does not say. */
  readonly node: string;
  readonly address: string;
  /** Redirects that led there. */
  readonly hops: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Request metadata beside the client's own. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** In milliseconds; undefined: the client's default for the call's kind. */
  readonly deadlineMs?: number;
  /** Called once, when a node has accepted the call. */
  readonly onHeader?: (info: CallInfo) => void;
  /** Called for each node that answered: those that redirected or refused the call, then the one that accepted it. */
  readonly onAttempt?: (info: CallInfo) => void;
}
