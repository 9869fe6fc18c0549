import { CodedError } from "../base/index.ts";

/** Where a node listens for gRPC. */
export interface Address {
  /** HOST:PORT, an IPv6 host in brackets. */
  readonly hostPort: string;
  readonly tls: boolean;
  /** grpc://HOST:PORT or grpcs://HOST:PORT: equal for equal addresses. */
  readonly url: string;
}

const defaultPort = 8075;
const shape = /^(?:(https?|grpcs?):\/\/)?([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{1,5}))?\/?$/;

/** Reads http://, https://, grpc://, grpcs:// or bare HOST[:PORT]. Errors: `invalid_argument`. */
export function parseAddress(text: string): Address {
  const [, scheme = "grpc", host, portText] = shape.exec(text) ?? [];
  const port = portText === undefined ? defaultPort : Number(portText);
  if (host === undefined || port < 1 || port > 65535) {
    throw new CodedError("invalid_argument", "not an address of the form grpc://HOST:PORT", { address: text.slice(0, 200) });
  }
  const tls = scheme === "https" || scheme === "grpcs";
  const hostPort = `${host.toLowerCase()}:${port}`;
  return { hostPort, tls, url: `${tls ? "grpcs" : "grpc"}://${hostPort}` };
}
