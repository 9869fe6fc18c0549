import type { LoadBalancer } from "../../src/db/index.ts";

/** The port of the server that answers a read. */
export async function readPort(lb: LoadBalancer): Promise<number | undefined> {
  return (await lb.query<{ port: number }>("SELECT inet_server_port() AS port")).rows[0]?.port;
}

/** The ports of the servers that answer some reads at once. */
export async function readPorts(lb: LoadBalancer, reads = 20): Promise<Set<number | undefined>> {
  return new Set(await Promise.all(Array.from({ length: reads }, () => readPort(lb))));
}

/** How a load balancer judges a server of a test cluster now. */
export function statusOf(lb: LoadBalancer, { port }: { readonly port: number }): LoadBalancer["status"][number] | undefined {
  return lb.status.find(({ host }) => host === `127.0.0.1:${port}`);
}
