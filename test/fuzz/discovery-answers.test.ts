import { type Answer, AUTHORITATIVE_ANSWER, encode } from "dns-packet";
import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../src/base/index.ts";
import { DnsSource, defaultDnsSourceOptions } from "../../src/db/discovery/dns/dns-source.ts";
import { PatroniSource } from "../../src/db/discovery/patroni-source.ts";
import { tidyServers } from "../../src/db/discovery/source.ts";
import { ByteMutator } from "../support/byte-mutator.ts";
import { SimClock } from "../support/sim-clock.ts";
import { simRandom } from "../support/sim-random.ts";

const seed = 7;
const rounds = 4000;

/** Runs a lookup; what it gives must be a list, or one of the legal errors. */
async function look(
  lookup: Promise<{ servers: readonly { host: string; port: number }[] }>,
  legal: readonly string[],
): Promise<"list" | "error"> {
  try {
    for (const { host, port } of tidyServers((await lookup).servers)) {
      expect(host).toMatch(/^[\w.:-]+$/);
      expect(port).toBeGreaterThan(0);
    }
    return "list";
  } catch (error) {
    if (!CodedError.is(error) || !legal.includes(error.code)) throw error;
    return "error";
  }
}

const srv = (target: string, port: number): Answer => ({ type: "SRV", name: "db.test", ttl: 9, data: { target, port } });
const reply = (answers: Answer[], additionals: Answer[] = []) =>
  encode({
    type: "response",
    id: 0,
    flags: AUTHORITATIVE_ANSWER,
    questions: [{ type: "SRV", name: "db.test", class: "IN" }],
    answers,
    additionals,
  });
const dnsReplies = [
  reply([srv("a.test", 1), srv("b.test", 2)], [{ type: "A", name: "a.test", ttl: 9, data: "10.0.0.1" }]),
  reply(
    [{ type: "CNAME", name: "db.test", ttl: 9, data: "c.test" }, srv("a.test", 1)],
    [{ type: "AAAA", name: "a.test", ttl: 9, data: "fd00::1" }],
  ),
  reply([], [{ type: "TXT", name: "db.test", ttl: 9, data: "x" }]),
];

test("whatever a nameserver sends, a lookup gives servers that could be or an error that says what was wrong", async () => {
  const random = simRandom(seed);
  const pointers = ["c000", "c00c", "c0ff", "ffff", "0000", "00210001", "00010001"].map((hex) => Buffer.from(hex, "hex"));
  const mutator = new ByteMutator({ dictionary: pointers, maxBytes: 2000 }, random);
  const exchange = async (query: Uint8Array) => {
    const [one, other] = [dnsReplies[random.int(dnsReplies.length)] as Buffer, dnsReplies[random.int(dnsReplies.length)] as Buffer];
    const bytes = mutator.mutate(one, other);
    // The way there lets nothing through that has another id.
    Buffer.from(query).copy(bytes, 0, 0, Math.min(2, bytes.length));
    return bytes;
  };
  const source = new DnsSource(
    { ...defaultDnsSourceOptions, nameserver: "127.0.0.1", record: "db.test", recordType: "SRV" },
    { clock: new SimClock(), random, serverPort: 5432, udp: exchange, tcp: exchange },
  );
  const seen = { list: 0, error: 0 };
  for (let i = 0; i < rounds; i++)
    seen[await look(source.lookup(neverAborted), ["protocol_error", "node_unavailable", "not_found", "limit_exceeded"])]++;
  expect(seen.list).toBeGreaterThan(100);
  expect(seen.error).toBeGreaterThan(100);
});

test("whatever Patroni's port sends, a lookup gives servers that could be or an error", async () => {
  const random = simRandom(seed);
  const member = { name: "pg1", role: "replica", state: "running", host: "10.0.0.1", port: 5432, tags: { noloadbalance: false }, lag: 0 };
  const body = Buffer.from(JSON.stringify({ members: [{ ...member, role: "leader" }, member], scope: "demo" }));
  const words = ["null", "[]", "{}", "0", '"host"', '"members":', "-1", "1e99", "\\u0000"].map((text) => Buffer.from(text));
  const mutator = new ByteMutator({ dictionary: words, maxBytes: 2000 }, random);
  const source = new PatroniSource(
    { endpoints: ["http://db1:8008"] },
    { clock: new SimClock(), get: async () => ({ status: random.int(10) === 0 ? 503 : 200, body: mutator.mutate(body, body).toString() }) },
  );
  const seen = { list: 0, error: 0 };
  for (let i = 0; i < rounds; i++) seen[await look(source.lookup(neverAborted), ["node_unavailable"])]++;
  expect(seen.list).toBeGreaterThan(100);
  expect(seen.error).toBeGreaterThan(100);
});
