import { expect, test } from "vitest";
import { neverAborted } from "../../../../src/base/index.ts";
import { addressInHosts, Nameserver, type NameserverDeps } from "../../../../src/db/discovery/dns/nameserver.ts";
import { failureOf } from "../../../support/failure-of.ts";
import { SimClock } from "../../../support/sim-clock.ts";

const hosts = "# a comment\n127.0.0.1\tlocalhost\n10.0.0.7  dns.example DNS2 # 10.0.0.8 dns3\nbad dns4\n";

function nameserver(name: string, deps: Partial<NameserverDeps> = {}) {
  const clock = new SimClock();
  const asked: string[] = [];
  let answer: { address: string; ttlMs?: number } | undefined = { address: "10.1.1.1", ttlMs: 5000 };
  const resolveName = async (wanted: string) => {
    asked.push(wanted);
    if (!answer) throw new Error("no such name");
    return answer;
  };
  const tested = new Nameserver(name, { clock, readHosts: async () => hosts, resolveName, ...deps });
  const set = (next: typeof answer) => {
    answer = next;
  };
  return { tested, clock, asked, set };
}

test("an address is used as it is; a name comes from the hosts file first", async () => {
  const literal = nameserver("fd00::53");
  expect(await literal.tested.address(neverAborted)).toBe("fd00::53");
  const listed = nameserver("dns2.");
  expect(await listed.tested.address(neverAborted)).toBe("10.0.0.7");
  expect([...literal.asked, ...listed.asked]).toEqual([]);
});

test("the hosts file is read as the system reads it", () => {
  expect(addressInHosts(hosts, "DNS.example")).toBe("10.0.0.7");
  expect(addressInHosts(hosts, "dns3")).toBeUndefined();
  expect(addressInHosts(hosts, "dns4")).toBeUndefined();
  expect(addressInHosts("", "localhost")).toBeUndefined();
});

test("localhost needs no hosts file", async () => {
  const { tested } = nameserver("localhost", { readHosts: () => Promise.reject(new Error("no such file")) });
  expect(await tested.address(neverAborted)).toBe("127.0.0.1");
});

test("other names are asked for again when their TTL is over, 30 s where there is none, or when the address failed", async () => {
  const { tested, clock, asked, set } = nameserver("consul.example");
  expect(await tested.address(neverAborted)).toBe("10.1.1.1");
  await clock.advance(4999);
  await tested.address(neverAborted);
  expect(asked).toHaveLength(1);
  set({ address: "10.1.1.2" });
  await clock.advance(1);
  expect(await tested.address(neverAborted)).toBe("10.1.1.2");
  await clock.advance(29_999);
  await tested.address(neverAborted);
  expect(asked).toHaveLength(2);
  tested.expire();
  await tested.address(neverAborted);
  expect(asked).toHaveLength(3);
});

test("an address that cannot be asked for again stays; without any there is none", async () => {
  const { tested, clock, set } = nameserver("consul.example");
  await tested.address(neverAborted);
  set(undefined);
  await clock.advance(60_000);
  expect(await tested.address(neverAborted)).toBe("10.1.1.1");
  const none = nameserver("consul.example");
  none.set(undefined);
  expect((await failureOf(none.tested.address(neverAborted))).code).toBe("not_found");
});

test("a lookup that is given up ends with the signal's reason, whatever is known", async () => {
  const { tested, clock, set } = nameserver("consul.example");
  await tested.address(neverAborted);
  set(undefined);
  await clock.advance(60_000);
  await expect(tested.address(AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up");
});

test("a system's DNS that says nothing leaves time to ask the nameserver where it was last", async () => {
  let silent = false;
  const given: AbortSignal[] = [];
  const resolveName = async (_name: string, signal: AbortSignal): Promise<{ address: string }> => {
    given.push(signal);
    return silent ? new Promise(() => {}) : { address: "10.1.1.1" };
  };
  const { tested, clock } = nameserver("consul.example", { resolveName });
  await tested.address(neverAborted);
  silent = true;
  await clock.advance(60_000);
  const lookup = new AbortController();
  const asking = tested.address(lookup.signal);
  await clock.advance(500);
  expect(await asking).toBe("10.1.1.1");
  expect(lookup.signal.aborted).toBe(false);
  expect(given.at(-1)?.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});
