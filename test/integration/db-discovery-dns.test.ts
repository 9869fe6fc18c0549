import type { Answer } from "dns-packet";
import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock, systemRandom } from "../../src/base/index.ts";
import { DnsSource, type DnsSourceOptions, defaultDnsSourceOptions } from "../../src/db/discovery/dns/dns-source.ts";
import { type DnsReply, type DnsServer, startDnsServer } from "../support/dns-server.ts";
import { failureOf } from "../support/failure-of.ts";

const a = (name: string, data: string, ttl = 30): Answer => ({ type: "A", name, ttl, data });
const aaaa = (name: string, data: string, ttl = 30): Answer => ({ type: "AAAA", name, ttl, data });
const alias = (name: string, data: string): Answer => ({ type: "CNAME", name, ttl: 30, data });
const srv = (name: string, target: string, port: number, ttl = 30): Answer => ({ type: "SRV", name, ttl, data: { target, port } });

const source = (server: DnsServer, options: Partial<DnsSourceOptions> = {}) =>
  new DnsSource(
    { ...defaultDnsSourceOptions, nameserver: "127.0.0.1", port: server.port, record: "db.test", ...options },
    { clock: systemClock, random: systemRandom, serverPort: 5433 },
  );

/** Answers by "TYPE name"; other names do not exist. */
const zone = (records: Record<string, DnsReply>): DnsServer["reply"] => {
  return ({ type, name }) => records[`${type} ${name}`] ?? { code: 3 };
};

test("A records give hosts on the primary's port, for as long as the shortest TTL", async () => {
  await using server = await startDnsServer(
    zone({ "A db.test": { answers: [a("db.test", "10.0.0.1", 90), a("db.test", "10.0.0.2", 7)] } }),
  );
  expect(await source(server).lookup(neverAborted)).toEqual({
    servers: [
      { host: "10.0.0.1", port: 5433 },
      { host: "10.0.0.2", port: 5433 },
    ],
    ttlMs: 7000,
  });
  expect(server.asked).toEqual([{ name: "db.test", type: "A", over: "udp" }]);
});

test("AAAA records and aliases are followed; addresses of other names are not taken", async () => {
  const answers = [aaaa("c.test", "fd00::1"), alias("DB.test", "b.test"), aaaa("other.test", "fd00::666"), alias("b.test", "C.test")];
  await using server = await startDnsServer(zone({ "AAAA db.test": { answers } }));
  const { servers } = await source(server, { recordType: "AAAA" }).lookup(neverAborted);
  expect(servers).toEqual([{ host: "fd00::1", port: 5433 }]);
});

test("SRV records give ports; addresses come with the answer or are asked for; a target without any is left out (case 45)", async () => {
  await using server = await startDnsServer(
    zone({
      "SRV db.test": {
        answers: [
          srv("db.test", "one.test", 6001, 12),
          srv("db.test", "two.test", 6002),
          srv("db.test", "gone.test", 6003),
          srv("db.test", ".", 1),
        ],
        additionals: [a("one.test", "10.0.0.1", 3), a("gone.example", "10.0.0.66")],
      },
      "A two.test": {},
      "AAAA two.test": { answers: [aaaa("two.test", "fd00::2")] },
    }),
  );
  expect(await source(server, { recordType: "SRV" }).lookup(neverAborted)).toEqual({
    servers: [
      { host: "10.0.0.1", port: 6001, name: "one.test" },
      { host: "fd00::2", port: 6002, name: "two.test" },
    ],
    ttlMs: 12_000,
  });
});

test("an SRV target whose nameserver fails keeps the address it had", async () => {
  const records: Record<string, DnsReply> = {
    "SRV db.test": { answers: [srv("db.test", "one.test", 6001), srv("db.test", "two.test", 6002)] },
    "A one.test": { answers: [a("one.test", "10.0.0.1")] },
    "A two.test": { answers: [a("two.test", "10.0.0.2")] },
  };
  await using server = await startDnsServer(zone(records));
  const tested = source(server, { recordType: "SRV" });
  const before = await tested.lookup(neverAborted);
  records["A two.test"] = { code: 2 };
  expect((await tested.lookup(neverAborted)).servers).toEqual(before.servers);
  // Only that it does not exist takes it out of the answer.
  records["A two.test"] = { code: 3 };
  expect((await tested.lookup(neverAborted)).servers.map(({ host }) => host)).toEqual(["10.0.0.1"]);
  records["A two.test"] = { code: 2 };
  expect((await tested.lookup(neverAborted)).servers.map(({ host }) => host)).toEqual(["10.0.0.1"]);
});

test("an answer that does not fit a datagram comes over TCP, and everything does when asked to", async () => {
  const answers = Array.from({ length: 200 }, (_, i) => a("db.test", `10.0.1.${i}`));
  await using server = await startDnsServer(() => ({ answers, truncated: true }));
  expect((await source(server).lookup(neverAborted)).servers).toHaveLength(200);
  expect(server.asked.map(({ over }) => over)).toEqual(["udp", "tcp"]);
  await source(server, { useTcp: true }).lookup(neverAborted);
  expect(server.asked.map(({ over }) => over)).toEqual(["udp", "tcp", "tcp"]);
});

test("a lost datagram is sent again", async () => {
  let lost = 1;
  await using server = await startDnsServer(() => (lost-- > 0 ? undefined : { answers: [a("db.test", "10.0.0.1")] }));
  expect((await source(server).lookup(neverAborted)).servers).toHaveLength(1);
  expect(server.asked).toHaveLength(2);
});

test("a server that does not know the extensions is asked without them", async () => {
  let first = true;
  await using server = await startDnsServer(() => {
    if (!first) return { answers: [a("db.test", "10.0.0.1")] };
    first = false;
    return { code: 1 };
  });
  expect((await source(server).lookup(neverAborted)).servers).toHaveLength(1);
});

test("no such name, a failing server, garbage and silence are failures of their own kind, never an empty list", async () => {
  await using server = await startDnsServer();
  const code = async () => (await failureOf(source(server).lookup(neverAborted))).code;
  expect(await code()).toBe("not_found");
  server.reply = () => ({ code: 2 });
  expect(await code()).toBe("node_unavailable");
  server.reply = () => ({ answers: [], code: 0, truncated: false });
  expect((await source(server).lookup(neverAborted)).servers).toEqual([]);
  server.reply = (_question, over) => (over === "tcp" ? { raw: Buffer.from("\0\x03abc", "latin1") } : { truncated: true });
  expect(await code()).toBe("protocol_error");
  server.reply = () => undefined;
  using deadline = startDeadline(systemClock, 50);
  expect((await failureOf(source(server).lookup(deadline.signal))).code).toBe("deadline_exceeded");
});

test("datagrams that answer something else are not taken for the answer", async () => {
  await using server = await startDnsServer();
  let asked = 0;
  server.reply = () => {
    // Another id: as if a stranger had guessed the port.
    if (asked++ === 0) return { raw: Buffer.from("00008180000100000000000002646204746573740000010001", "hex") };
    return { answers: [a("db.test", "10.0.0.1")] };
  };
  expect((await source(server).lookup(neverAborted)).servers).toHaveLength(1);
  expect(asked).toBe(2);
});

test("a nameserver that refuses connections fails at once", async () => {
  const server = await startDnsServer();
  await server[Symbol.asyncDispose]();
  await expect(source(server).lookup(neverAborted)).rejects.toThrow();
  await expect(source(server, { useTcp: true }).lookup(neverAborted)).rejects.toThrow();
});

test("a nameserver that no route leads to is a failed lookup", async () => {
  await using server = await startDnsServer();
  await expect(source(server, { nameserver: "255.255.255.255" }).lookup(neverAborted)).rejects.toMatchObject({ syscall: "connect" });
});
