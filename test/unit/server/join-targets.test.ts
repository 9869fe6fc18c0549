import { expect, test } from "vitest";
import type { Config, JoinAddress } from "../../../src/config/index.ts";
import { expectedPeerPorts, joinTargets } from "../../../src/server/join-targets.ts";

const address = (host: string, port: number, scheme: JoinAddress["scheme"] = "grpc"): JoinAddress => ({
  scheme,
  host,
  port,
  text: `${scheme}://${host}:${port}`,
});
const config = (joinAddrs: JoinAddress[], explicit = false, port = 8075) =>
  ({
    joinAddrs,
    grpc: { host: "127.0.0.1", port, explicit },
    gossip: { host: "127.0.0.1", port: 7946, explicit },
    advertiseHost: "node-1.example",
  }) as unknown as Config;

test("a node's own address is left out, whatever loopback or advertised name it has there", () => {
  const peers = [
    address("127.0.0.1", 8075),
    address("localhost", 8075),
    address("node-1.example", 8075),
    address("127.0.0.1", 7946, "gossip"),
    address("node-2.example", 8075),
  ];
  expect(joinTargets(config(peers, true), undefined)).toEqual([address("node-2.example", 8075)]);
});

test("a default port is not yet this node's: a peer may be there", () => {
  expect(joinTargets(config([address("127.0.0.1", 8075)]), undefined)).toHaveLength(1);
});

test("a port kept from an earlier start is this node's", () => {
  expect(joinTargets(config([address("127.0.0.1", 9000), address("127.0.0.1", 9001)]), { grpc: 9000, http: 1, gossip: 2 })).toEqual([
    address("127.0.0.1", 9001),
  ]);
});

test("ports that loopback targets name are left free", () => {
  expect([...expectedPeerPorts([address("127.0.0.1", 8075), address("::1", 7000), address("far.example", 9)])]).toEqual([8075, 7000]);
});
