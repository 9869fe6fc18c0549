import { CodedError, errnoOf } from "../base/index.ts";

/** How far from its default a listener looks for a free port. */
const span = 200;

export interface WantedAddress {
  readonly host: string;
  readonly port: number;
  /** The operator named the port: it is this one or an error. */
  readonly explicit: boolean;
}

/**
 * Listens on the wanted port, or, where that is a default that is taken, on the next free one. `avoid` holds ports that count as
 * taken because a peer is expected there. Errors: `failed_precondition` naming the port.
 */
export async function listenOnFree<T>(
  name: string,
  wanted: WantedAddress,
  avoid: ReadonlySet<number>,
  listen: (host: string, port: number) => Promise<T>,
): Promise<T> {
  const last = wanted.explicit || wanted.port === 0 ? wanted.port : Math.min(wanted.port + span, 65535);
  for (let port = wanted.port; ; port++) {
    if (!wanted.explicit && avoid.has(port)) continue;
    try {
      return await listen(wanted.host, port);
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
      if (port >= last)
        throw new CodedError(
          "failed_precondition",
          "the listener's port is taken",
          { listener: name, address: `${wanted.host}:${wanted.port}` },
          { cause: error },
        );
    }
  }
}

function isAddressInUse(error: unknown): boolean {
  for (let current: unknown = error; current instanceof Error; current = current.cause) {
    if (errnoOf(current) === "EADDRINUSE") return true;
  }
  return false;
}
