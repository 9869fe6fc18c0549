import { isIPv4, isIPv6 } from "node:net";
import { CodedError, hostPort, sameBytes } from "../base/index.ts";

/** Where a member listens, for packets and streams alike. */
export interface GossipAddress {
  /** An IP address, or a name where one can be resolved. */
  readonly host: string;
  readonly port: number;
}

/** `HOST:PORT`, with brackets around an IPv6 address. */
export function formatAddress({ host, port }: GossipAddress): string {
  return hostPort(host, port);
}

/** Errors: `invalid_argument` for a port that no peer can have. */
export function checkPort({ host, port }: GossipAddress): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new CodedError("invalid_argument", "a gossip port is a number from 1 to 65535", { host, port });
}

/** An IPv4 address that is written as IPv6, as plain IPv4; all else as it is. */
export function plainHost(host: string): string {
  return host.startsWith("::ffff:") && isIPv4(host.slice(7)) ? host.slice(7) : host;
}

/** The 4 or 16 bytes of an IP address; undefined for anything else. */
export function ipToBytes(host: string): Uint8Array | undefined {
  if (isIPv4(host)) return Uint8Array.from(host.split("."), Number);
  if (!isIPv6(host)) return undefined;
  // The URL parser knows every spelling; it answers in hexadecimal groups.
  const [head = "", tail] = new URL(`http://[${host.replace(/%.*$/, "")}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const left = groups(head);
  const right = groups(tail ?? "");
  const all = tail === undefined ? left : [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The text of 4 or 16 bytes; IPv4 in IPv6 reads as IPv4. Undefined for any other length. */
export function bytesToIp(bytes: Uint8Array): string | undefined {
  const plain = withoutMapping(bytes);
  if (plain.length === 4) return plain.join(".");
  if (plain.length !== 16) return undefined;
  const groups = Array.from({ length: 8 }, (_, i) => (((plain[2 * i] as number) << 8) | (plain[2 * i + 1] as number)).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

const mappedPrefix = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

function withoutMapping(bytes: Uint8Array): Uint8Array {
  return bytes.length === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte) ? bytes.subarray(12) : bytes;
}

/** Orders addresses: by their bytes, then by port. 0 for one address, also where one of them is written as IPv4 in IPv6. */
export function compareAddresses(a: { address: Uint8Array; port: number }, b: { address: Uint8Array; port: number }): number {
  if (a.port === b.port && sameBytes(a.address, b.address)) return 0;
  return Buffer.compare(withoutMapping(a.address), withoutMapping(b.address)) || a.port - b.port;
}
