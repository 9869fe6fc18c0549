/** Where a listener accepts. */
export interface ListenerAddress {
  readonly host: string;
  readonly port: number;
}

/** Git over HTTP, with the node's health, readiness and metrics. Disposing destroys it. */
export interface Gateway extends AsyncDisposable {
  /** Begins to accept; port 0 is any free one. May be called again after it failed. Errors: the platform's, `EADDRINUSE` among them. */
  listen(at: ListenerAddress): Promise<ListenerAddress>;
  /** Undefined while it does not accept. */
  readonly address: ListenerAddress | undefined;
  /** Accepts nothing new and resolves when what runs has ended, or, once `signal` aborts, has been cut off. */
  close(signal: AbortSignal): Promise<void>;
  /** Cuts everything off. */
  destroy(): Promise<void>;
}
