import { hostname, networkInterfaces } from "node:os";

/** A host that others can use for a listener bound to `host`: a wildcard becomes this machine's first outside address. */
export function reachableHost(host: string): string {
  if (host !== "0.0.0.0" && host !== "::") return host;
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && (family === "IPv4" || host === "::"));
  return (outside.find(({ family }) => family === "IPv4") ?? outside[0])?.address ?? hostname();
}
