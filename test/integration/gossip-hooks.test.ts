import { expect, test } from "vitest";
import { neverAborted, startDeadline, systemClock } from "../../src/base/index.ts";
import {
  createKeyRing,
  createMember,
  type DirectAck,
  type Member,
  type MemberDeps,
  type MemberEvent,
  type MemberOptions,
} from "../../src/gossip/index.ts";

function start(name: string, options: Partial<MemberOptions> = {}, deps: MemberDeps = {}): Promise<Member> {
  return createMember({ name, bindHost: "127.0.0.1", bindPort: 0, ...options }, deps);
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const text = (payload: Uint8Array) => Buffer.from(payload).toString();
const names = (member: Member) => member.members().map(({ name }) => name);

/** A place for what callbacks bring, and a way to wait until it is what it should be. */
class Seen<T> {
  readonly items: T[] = [];
  #wake: () => void = () => {};

  readonly add = (item: T): void => {
    this.items.push(item);
    this.#wake();
  };

  async until(condition: (items: readonly T[]) => boolean): Promise<void> {
    using deadline = startDeadline(systemClock, 10_000);
    while (!condition(this.items)) {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason), { once: true });
      });
    }
  }
}

function messagesOf(member: Member): Seen<string> {
  const seen = new Seen<string>();
  member.subscribe((event: MemberEvent) => {
    if (event.type === "message") seen.add(text(event.payload));
  });
  return seen;
}

test("an acknowledgement carries what the peer adds to it, and tells the round trip", async () => {
  const acks = new Seen<DirectAck>();
  await using a = await start("a", { probeIntervalMs: 30, probeTimeoutMs: 20 }, { hooks: { onAck: acks.add } });
  await using b = await start("b", {}, { hooks: { ackPayload: () => bytes("coordinates of b") } });
  await using c = await start("c");
  expect(await a.join([b.address, c.address], neverAborted)).toBe(2);
  await acks.until((items) => new Set(items.map(({ member }) => member.name)).size === 2);
  for (const { member, roundTripMs, payload } of acks.items) {
    expect(text(payload)).toBe(member.name === "b" ? "coordinates of b" : "");
    expect(roundTripMs).toBeGreaterThan(0);
  }
});

test("user state goes both ways with a full exchange, beside a guard and without one", async () => {
  const guard = { userState: () => bytes("blue"), acceptUserState: (state: Uint8Array) => text(state) === "blue", acceptNode: () => true };
  for (const each of [{}, { guard }]) {
    const merged = new Seen<string>();
    const hooks = (name: string) => ({
      userState: (join: boolean) => bytes(`${name} ${join}`),
      mergeUserState: (state: Uint8Array, join: boolean) => merged.add(`${name} <- ${text(state)} ${join}`),
    });
    await using a = await start("a", {}, { ...each, hooks: hooks("a") });
    await using b = await start("b", {}, { ...each, hooks: hooks("b") });
    expect(await b.join([a.address], neverAborted)).toBe(1);
    await merged.until((items) => items.length === 2);
    expect([...merged.items].sort()).toEqual(["a <- b true true", "b <- a true true"]);
  }
});

test("a message for one member goes by datagram or by stream, to a name or an address", async () => {
  const keyRing = createKeyRing([new Uint8Array(32).fill(1)]);
  await using a = await start("a", { keyRing });
  await using b = await start("b", { keyRing });
  expect(await b.join([a.address], neverAborted)).toBe(1);
  const messages = messagesOf(b);
  const large = "large ".repeat(100_000);
  await a.send("b", bytes("by name"), { reliable: false });
  await a.send(b.address, bytes("to an address"), { reliable: false });
  await a.send("b", bytes(large), { reliable: true, signal: AbortSignal.timeout(5000) });
  await a.send({ host: "localhost", port: b.address.port }, bytes("to a host"), { reliable: true });
  await messages.until((items) => items.length === 4);
  expect([...messages.items].sort()).toEqual(["by name", "to a host", "to an address", large].sort());
});

test("a message to nobody, or too long for its way, is a typed error", async () => {
  await using a = await start("a");
  const payload = bytes("x");
  await expect(a.send("nobody", payload, { reliable: false })).rejects.toMatchObject({ code: "not_found", fields: { name: "nobody" } });
  await expect(a.send(a.address, new Uint8Array(1400), { reliable: false })).rejects.toMatchObject({ code: "limit_exceeded" });
  await expect(a.send(a.address, new Uint8Array((20 << 20) + 1), { reliable: true })).rejects.toMatchObject({ code: "limit_exceeded" });
  await expect(a.send({ host: "127.0.0.1", port: 1 }, payload, { reliable: true })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await a.destroy();
  await expect(a.send("a", payload, { reliable: true })).rejects.toMatchObject({ code: "cancelled" });
});

test("a claim is judged by its name, its address and its metadata, and who is refused never enters the view", async () => {
  const judged: string[] = [];
  const guard = {
    userState: () => new Uint8Array(),
    acceptUserState: () => true,
    acceptNode: ({ name, host, port, meta }: { name: string; host: string; port: number; meta: Uint8Array }) => {
      judged.push(`${name} ${host}:${port} ${text(meta)}`);
      return name !== "bad";
    },
  };
  await using a = await start("a", {}, { guard });
  await using good = await start("good", { meta: bytes("m1") });
  await using bad = await start("bad", { meta: bytes("m2") });
  expect(await good.join([bad.address], neverAborted)).toBe(1);
  expect(await good.join([a.address], neverAborted)).toBe(1);
  expect(await a.join([good.address], neverAborted)).toBe(1);
  expect(names(a)).toEqual(["a", "good"]);
  expect(judged).toContain(`good 127.0.0.1:${good.address.port} m1`);
  expect(judged).toContain(`bad 127.0.0.1:${bad.address.port} m2`);
});

test("who is outside of the allowed networks is neither answered nor taken as a member", async () => {
  const allowedNetworks = ["127.0.0.1/32"];
  await using a = await start("a", { allowedNetworks });
  await using b = await start("b");
  await using outside = await start("outside", { bindHost: "127.0.0.2" });
  await expect(start("c", { bindHost: "127.0.0.2", allowedNetworks })).rejects.toMatchObject({ code: "invalid_argument" });
  expect(await b.join([outside.address], neverAborted)).toBe(1);
  expect(await b.join([a.address], neverAborted)).toBe(1);
  const messages = messagesOf(a);
  await outside.send(a.address, bytes("from outside"), { reliable: false });
  await b.send("a", bytes("from inside"), { reliable: false });
  await messages.until((items) => items.length > 0);
  expect(messages.items).toEqual(["from inside"]);
  expect(names(a)).toEqual(["a", "b"]);
  expect(names(b)).toEqual(["a", "b", "outside"]);
});

test("options that contradict each other or are out of range are typed errors", async () => {
  const invalid = { code: "invalid_argument" };
  const key = new Uint8Array(32);
  await expect(start("a", { keyRing: createKeyRing([key]), encryptionKeys: [key] })).rejects.toMatchObject(invalid);
  await expect(start("a", { protocolVersion: 6 })).rejects.toMatchObject(invalid);
  await expect(start("a", { delegateVersions: [2, 1, 1] })).rejects.toMatchObject(invalid);
  await expect(start("a", { allowedNetworks: ["10.0.0.0"] })).rejects.toMatchObject(invalid);
});
