/** A running node. */
export interface GitalyServer extends AsyncDisposable {
  readonly info: {
    readonly node: string;
    readonly pid: number;
    readonly version: string;
    readonly dataDir: string;
    /** HOST:PORT that clients and peers are told. */
    readonly grpc: string;
    readonly http: string;
    /** "" until the node has joined gossip, as is the cluster's id. */
    readonly gossip: string;
    readonly clusterId: string;
  };
  /** Resolves once the node can serve. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** What a node that is not ready waits for, in a few words; "" when ready. */
  waitingFor(): string;
  /** Leaves the ring, finishes the running calls, leaves the cluster and closes everything. Idempotent. */
  drain(): Promise<void>;
  /** Closes everything at once; to the others it looks like a crash. Idempotent. */
  destroy(): Promise<void>;
  /** Settles when the node has closed; rejects with what forced it to. */
  readonly closed: Promise<void>;
}
