import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer, roleEndpoints } from "../../src/db/index.ts";
import { type Haproxy, haproxyMissing, startHaproxy } from "../support/haproxy.ts";
import { askOnce } from "../support/managed-node.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-haproxy", haproxyMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("a HAProxy that asks the role endpoints", () => {
  let cluster: PostgresCluster;
  let standby: PostgresServer;
  let lb: LoadBalancer;
  let endpoints: Server;
  let proxy: Haproxy;
  const asked = new Map<string, number>();
  beforeAll(async () => {
    cluster = await startPostgresCluster({ replicas: 1 });
    [standby] = cluster.replicas as [PostgresServer];
    lb = await createLoadBalancer({
      primary: cluster.primary.url,
      replicas: [standby.url],
      replicaCheckIntervalMs: 200,
      probeTimeoutMs: 1000,
    });
    const answer = roleEndpoints(lb);
    endpoints = createServer((request, response) => {
      const url = request.url ?? "";
      asked.set(url, (asked.get(url) ?? 0) + 1);
      if (!answer(request, response)) response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => endpoints.listen(0, "127.0.0.1", resolve));
    proxy = await startHaproxy([cluster.primary.port, standby.port], (endpoints.address() as AddressInfo).port);
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    endpoints?.closeAllConnections();
    endpoints?.close();
    await lb?.destroy();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** The port of the server that a new connection to the proxy reaches; undefined where it reaches none. */
  const reached = async (port: number): Promise<number | undefined> => {
    const rows = await askOnce(`postgres://postgres@127.0.0.1:${port}/postgres`, "SELECT inet_server_port() AS port").catch(() => []);
    return rows[0]?.["port"] as number | undefined;
  };
  const reachedInTurn = async (port: number, times: number) => {
    const ports = new Set<number | undefined>();
    for (let i = 0; i < times; i++) ports.add(await reached(port));
    return ports;
  };

  test("leads writers to the primary and readers to the replica, and nobody elsewhere", async () => {
    // Until it has heard of a server, HAProxy takes it for up.
    await until("each server has been asked about twice for each port", () => asked.size === 4 && [...asked.values()].every((n) => n > 1));
    await until("both ports lead somewhere", async () => !(await reachedInTurn(proxy.writerPort, 1)).has(undefined));
    expect(await reachedInTurn(proxy.writerPort, 20)).toEqual(new Set([cluster.primary.port]));
    expect(await reachedInTurn(proxy.readerPort, 20)).toEqual(new Set([standby.port]));
  });

  test("leads writers to the promoted replica, and never back to the old primary, which came up as one", async () => {
    await cluster.primary.stop();
    await until("nobody is led to the dead primary", async () => (await reached(proxy.writerPort)) === undefined);
    expect(await reached(proxy.readerPort)).toBe(standby.port);
    await standby.promote();
    await until("writers are led to the new one", async () => (await reached(proxy.writerPort)) === standby.port);
    await cluster.primary.start();
    expect(await askOnce(cluster.primary.url, "SELECT pg_is_in_recovery() AS recovering")).toEqual([{ recovering: false }]);
    const old = `127.0.0.1:${cluster.primary.port}`;
    await until("the old one has been looked at", () => lb.status.some(({ host, timeline }) => host === old && timeline === 1));
    expect(await reachedInTurn(proxy.writerPort, 40)).toEqual(new Set([standby.port]));
    expect(await reachedInTurn(proxy.readerPort, 5)).toEqual(new Set([undefined]));
  });
});
