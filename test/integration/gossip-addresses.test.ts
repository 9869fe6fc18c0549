import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock } from "../../src/base/index.ts";
import { createMember, formatAddress, type Member, type MemberOptions } from "../../src/gossip/index.ts";

function start(name: string, options: Partial<MemberOptions> = {}): Promise<Member> {
  return createMember({ name, bindHost: "127.0.0.1", bindPort: 0, ...options });
}

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === "::1"));

/** Resolves when each of the members sees all of them as alive. */
async function whenAllSeeAll(...members: Member[]): Promise<void> {
  using deadline = startDeadline(systemClock, 10_000);
  const isDone = () => members.every((member) => member.members().filter(({ state }) => state === "alive").length === members.length);
  let stop: () => void = () => {};
  const subscriptions = await new Promise<Disposable[]>((resolve, reject) => {
    const all = members.map((member) => member.subscribe(() => isDone() && resolve(all)));
    stop = () => reject(deadline.signal.reason);
    deadline.signal.addEventListener("abort", stop);
    if (isDone()) resolve(all);
  });
  deadline.signal.removeEventListener("abort", stop);
  for (const subscription of subscriptions) subscription[Symbol.dispose]();
}

// B54, TestAdvertiseAddr
test("an address that is advertised need not be bound, and is what peers are told", async () => {
  await using a = await start("a", { bindHost: "0.0.0.0", advertiseHost: "203.0.113.7", advertisePort: 4321 });
  expect(a.address).toEqual({ host: "203.0.113.7", port: 4321 });
  expect(a.members()).toEqual([expect.objectContaining({ name: "a", host: "203.0.113.7", port: 4321 })]);
});

// B54
test("a member on a loopback address tells peers that address and no other", async () => {
  await using a = await start("a");
  await using b = await start("b", { bindHost: "localhost" });
  expect(a.address.host).toBe("127.0.0.1");
  expect(["127.0.0.1", "::1"]).toContain(b.address.host);
  expect(a.address.port).toBeGreaterThan(0);
});

test("a member on a wildcard tells peers an address that leads to it", async () => {
  await using a = await start("a", { bindHost: "0.0.0.0" });
  expect(a.address.host).not.toBe("0.0.0.0");
  await using b = await start("b");
  expect(await b.join([a.address], neverAborted)).toBe(1);
  await whenAllSeeAll(a, b);
});

// B55, TestMemberlist_Join_IPv6
test.runIf(hasIpv6)("members on IPv6 join, and their addresses are written with brackets", async () => {
  await using a = await start("a", { bindHost: "::1" });
  await using b = await start("b", { bindHost: "::1" });
  expect(await b.join([a.address], neverAborted)).toBe(1);
  await whenAllSeeAll(a, b);
  expect(b.members().map(formatAddress)).toEqual([`[::1]:${a.address.port}`, `[::1]:${b.address.port}`]);
});

// B55
test.runIf(hasIpv6)("a member on the IPv6 wildcard is reached over both families, at an address that is none", async () => {
  await using a = await start("a", { bindHost: "::" });
  expect(["::", "0.0.0.0"]).not.toContain(a.address.host);
  await using four = await start("four");
  await using six = await start("six", { bindHost: "::1", advertiseHost: "::1" });
  expect(await four.join([{ host: "127.0.0.1", port: a.address.port }], neverAborted)).toBe(1);
  expect(await six.join([{ host: "::1", port: a.address.port }], neverAborted)).toBe(1);
  expect(
    a
      .members()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["a", "four", "six"]);
});

// TestMemberlist_Join_DeadNode
test("joining through a listener that never answers ends with the stream timeout and an error", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => held.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await using a = await start("a", { streamTimeoutMs: 100 });
  await expect(a.join([{ host: "127.0.0.1", port }], neverAborted)).rejects.toMatchObject({ code: "node_unavailable" });
  for (const socket of held) socket.destroy();
  server.close();
  await once(server, "close");
});

// TestMemberlist_Join_Cancel
test("a join that is given up ends with the signal's reason and leaves the member alone", async () => {
  await using a = await start("a");
  await using b = await start("b");
  const stop = new AbortController();
  stop.abort(new Error("changed my mind"));
  await expect(b.join([a.address], stop.signal)).rejects.toThrow("changed my mind");
  expect([a.members().length, b.members().length]).toEqual([1, 1]);
});

// TestMemberlist_Join_with_Labels
test("of three members two with one label become a cluster, and the third hears nothing of them and they not of it", async () => {
  await using a = await start("a", { label: "blah" });
  await using b = await start("b", { label: "blah" });
  await using c = await start("c", { label: "other", streamTimeoutMs: 500 });
  await using d = await start("d", { streamTimeoutMs: 500 });
  expect(await b.join([a.address], neverAborted)).toBe(1);
  await whenAllSeeAll(a, b);
  for (const stranger of [c, d]) {
    await expect(stranger.join([a.address], neverAborted)).rejects.toMatchObject({ code: "node_unavailable" });
    expect(stranger.members()).toHaveLength(1);
  }
  expect(a.members()).toHaveLength(2);
});

// TestMemberList_CreateShutdown, TestMemberList_Members
test("a member that is closed gives its port back at once", async () => {
  const a = await start("a");
  expect(a.members()).toMatchObject([{ name: "a", state: "alive", incarnation: 1 }]);
  await a.close();
  const { port } = a.address;
  const probe = connect(port, "127.0.0.1");
  const [error] = (await once(probe, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNREFUSED");
  await using b = await start("b", { bindPort: port });
  expect(b.address.port).toBe(port);
});

test("a port that is none is a typed error wherever it is given, and no socket stays open", async () => {
  const resources = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const before = resources();
  await using a = await start("a");
  const invalid = { code: "invalid_argument" };
  for (const port of [0, -1, 70_000, 1.5, Number.NaN]) {
    const address = { host: "127.0.0.1", port };
    await expect(a.join([a.address, address], neverAborted)).rejects.toMatchObject(invalid);
    await expect(a.queryMembers(address, neverAborted)).rejects.toMatchObject(invalid);
    await expect(a.send(address, Uint8Array.of(1), { reliable: true })).rejects.toMatchObject(invalid);
    await expect(start("b", { advertisePort: port })).rejects.toMatchObject(invalid);
  }
  expect(resources()).toBe(before);
});

test("a preset that there is not is a typed error", async () => {
  await expect(start("a", { preset: "moon" as "lan" })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("metadata is copied: what its owner does with the bytes later changes nothing", async () => {
  const meta = Uint8Array.of(1);
  await using a = await start("a", { meta });
  meta[0] = 2;
  expect(a.members()[0]?.meta).toEqual(Uint8Array.of(1));
});

test("who is being closed does not join any more", async () => {
  const [a, b] = [await start("a"), await start("b")];
  await using _a = a;
  await b.join([a.address], neverAborted);
  const closing = b.close();
  await expect(b.join([a.address], neverAborted)).rejects.toMatchObject({ code: "cancelled" });
  await closing;
});
