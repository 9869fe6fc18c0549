import { BlockList, isIP } from "node:net";
import { hostPort } from "../base/index.ts";
import { hasUserInfo } from "./urls.ts";

/** A host and a port, read from text. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const hostPortShape = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]*):(\d{1,5})$/;
const peerUrl = /^([a-z]+):\/\/(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?\/?$/;
const hostName = /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?$/;

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether `host` names this machine alone: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Whether `host` is a name or an address without brackets. */
export function isHost(host: string): boolean {
  return isIP(host) !== 0 || hostName.test(host);
}

/** HOST:PORT with the brackets that an IPv6 address needs. */
export function formatHostPort({ host, port }: HostPort): string {
  return hostPort(host, port);
}

/** Reads `HOST:PORT`; an empty host means every IPv4 interface. A string says what is wrong. */
export function parseListenAddress(text: string): HostPort | string {
  const [, bracketed, digits] = hostPortShape.exec(text) ?? [];
  const host = bracketed === undefined ? undefined : unbracket(bracketed === "" ? "0.0.0.0" : bracketed);
  const port = Number(digits);
  if (host === undefined || !isHost(host)) return "must be HOST:PORT";
  if (port > 65535) return "the port must be from 0 to 65535";
  return { host, port };
}

/** A peer's address, read from a URL. */
export interface PeerAddress extends HostPort {
  readonly scheme: "grpc" | "grpcs" | "gossip";
}

const schemes: Readonly<Record<string, { scheme: PeerAddress["scheme"]; defaultPort: number }>> = {
  http: { scheme: "grpc", defaultPort: 8075 },
  grpc: { scheme: "grpc", defaultPort: 8075 },
  https: { scheme: "grpcs", defaultPort: 8075 },
  grpcs: { scheme: "grpcs", defaultPort: 8075 },
  gossip: { scheme: "gossip", defaultPort: 7946 },
};

/** Reads `http://HOST[:PORT]` and its kin. Not by `URL`, which drops a port 80. A string says what is wrong. */
export function parsePeerAddress(text: string): PeerAddress | string {
  if (hasUserInfo(text)) return "must not contain a user or a password";
  const [, name, bracketed, digits] = peerUrl.exec(text) ?? [];
  const scheme = Object.hasOwn(schemes, name ?? "") ? schemes[name ?? ""] : undefined;
  const host = unbracket(bracketed ?? "");
  if (!scheme || !isHost(host)) return "must be http://HOST[:PORT], grpc://HOST[:PORT] or gossip://HOST[:PORT]";
  const port = digits === undefined ? scheme.defaultPort : Number(digits);
  if (port < 1 || port > 65535) return "the port must be from 1 to 65535";
  return { scheme: scheme.scheme, host, port };
}

function unbracket(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
