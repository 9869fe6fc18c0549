import type { Answer } from "dns-packet";
import { systemClock, systemRandom } from "../../src/base/index.ts";
import { DnsSource, defaultDnsSourceOptions } from "../../src/db/discovery/dns/dns-source.ts";
import { type DiscoveredServer, StaticSource } from "../../src/db/index.ts";
import { type DnsReply, startDnsServer } from "../support/dns-server.ts";
import { describeDiscoverySource, firstServers } from "./discovery-source.ts";

const nothing = async () => {};
describeDiscoverySource(
  "static",
  async () => ({ source: new StaticSource(firstServers), set: nothing, fail: nothing, silence: nothing, [Symbol.asyncDispose]: nothing }),
  { neverChanges: true, neverSilent: true },
);

const records = (type: "A" | "SRV", servers: readonly DiscoveredServer[]): DnsReply => {
  const address = (name: string, host: string): Answer => ({ type: "A", name, ttl: 5, data: host });
  if (type === "A") return { answers: servers.map(({ host }) => address("db.test", host)) };
  const target = (host: string) => `${host.replaceAll(".", "-")}.test`;
  return {
    answers: servers.map(({ host, port }) => ({ type: "SRV", name: "db.test", ttl: 5, data: { target: target(host), port } })),
    additionals: servers.map(({ host }) => address(target(host), host)),
  };
};

const dns = (recordType: "A" | "SRV", useTcp: boolean) => async () => {
  const server = await startDnsServer(() => records(recordType, firstServers));
  return {
    source: new DnsSource(
      { ...defaultDnsSourceOptions, nameserver: "127.0.0.1", port: server.port, record: "db.test", recordType, useTcp },
      { clock: systemClock, random: systemRandom, serverPort: 5432 },
    ),
    set: async (servers: readonly DiscoveredServer[]) => {
      server.reply = () => records(recordType, servers);
    },
    fail: async () => {
      server.reply = () => ({ code: 2 });
    },
    silence: async () => {
      server.reply = () => undefined;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

describeDiscoverySource("DNS A over UDP", dns("A", false));
describeDiscoverySource("DNS A over TCP", dns("A", true));
describeDiscoverySource("DNS SRV", dns("SRV", false));
