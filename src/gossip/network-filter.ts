import { BlockList, isIP } from "node:net";
import { CodedError } from "../base/index.ts";

/** Whether the IP address `host` is in one of the networks, given as `10.0.0.0/8` or `fd00::/8`. Errors: `invalid_argument`. */
export function createNetworkFilter(networks: readonly string[]): (host: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = "", digits = ""] = /^([0-9A-Fa-f.:]+)\/(\d{1,3})$/.exec(network) ?? [];
    const family = isIP(address);
    const bits = Number(digits);
    if (family === 0 || bits > (family === 4 ? 32 : 128)) {
      throw new CodedError("invalid_argument", "a network is an IP address, a slash and a number of bits", { network });
    }
    list.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return (host) => {
    const family = isIP(host);
    return family !== 0 && list.check(host, family === 4 ? "ipv4" : "ipv6");
  };
}
