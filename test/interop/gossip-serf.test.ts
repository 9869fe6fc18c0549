import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/gossip-peer.ts";
import { SerfAgent, type SerfMember, serfMissing } from "../support/serf-agent.ts";
import { SerfPeer, type SerfTags, serfMeta } from "../support/serf-peer.ts";

// HashiCorp's serf, as Debian ships it, as a stranger that judges us: two agents and two members of ours, which add serf's part by hooks.
const missing = serfMissing();
const required = process.env["CI"] !== undefined && process.env["GITALY_TEST_PEERS"] === "1";
if (missing !== undefined) process.stdout.write(`gossip-serf: ${required ? "failed" : "skipped"}: ${missing}\n`);
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("two serf agents and two members of ours", () => {
  const steadyMs = 20_000;
  let s1: SerfAgent;
  let s2: SerfAgent;
  let o1: SerfPeer;
  let o2: SerfPeer;

  beforeAll(async () => {
    [s1, s2, o1, o2] = await Promise.all([
      SerfAgent.start("s1", ["-tag", "role=web"]),
      SerfAgent.start("s2"),
      SerfPeer.start("o1", { lang: "node", role: "interop" }),
      SerfPeer.start("o2", {}),
    ]);
    // Each way: ours joins serf, serf joins ours, and two of ours.
    await o1.join(s1.address);
    await s2.command("join", o1.address);
    await o2.join(o1.address);
  });
  afterAll(async () => {
    await Promise.all([s1, s2, o1, o2].map((each) => each?.[Symbol.asyncDispose]()));
  });

  const statuses = async (agent: SerfAgent) => Object.fromEntries((await agent.members()).map(({ name, status }) => [name, status]));
  const bothSay = async (name: string, status: SerfMember["status"]) =>
    (await Promise.all([s1, s2].map(statuses))).every((view) => view[name] === status);
  const views = () => Promise.all([s1, s2].map(statuses));
  const tagsAre = (peer: SerfPeer, name: string, tags: SerfTags) => serfMeta(tags).equals(stateOf(peer, name)?.meta ?? new Uint8Array());
  const stateOf = (peer: SerfPeer, name: string) => peer.member.members().find((member) => member.name === name);

  test("are all alive to both kinds, with their tags and serf's protocol version", async () => {
    await until(
      async () => (await Promise.all(["s1", "s2", "o1", "o2"].map((name) => bothSay(name, "alive")))).every(Boolean),
      40_000,
      views,
    );
    for (const agent of [s1, s2]) {
      const member = (await agent.members()).find(({ name }) => name === "o1");
      expect(member).toMatchObject({ addr: o1.address, tags: { lang: "node", role: "interop" }, protocol: { version: 4 } });
    }
    await until(
      () => [o1, o2].every((peer) => peer.member.members().length === 4),
      40_000,
      () => [o1.member.members(), o2.member.members()],
    );
    for (const peer of [o1, o2]) {
      expect(peer.member.members().map(({ name, state }) => `${name} ${state}`)).toEqual(["o1 alive", "o2 alive", "s1 alive", "s2 alive"]);
      expect(tagsAre(peer, "s1", { role: "web" })).toBe(true);
    }
  });

  test("learn each other's new tags and hear each other's events", async () => {
    o1.member.setMeta(serfMeta({ lang: "node", role: "changed" }));
    await s1.command("tags", "-set", "role=db");
    const shown = async (agent: SerfAgent) => (await agent.members()).find(({ name }) => name === "o1")?.tags["role"] === "changed";
    await until(
      async () => (await shown(s1)) && (await shown(s2)),
      40_000,
      () => Promise.all([s1.members(), s2.members()]),
    );
    const updated = (peer: SerfPeer) => tagsAre(peer, "s1", { role: "db" });
    await until(
      () => updated(o1) && updated(o2),
      40_000,
      () => [stateOf(o1, "s1"), stateOf(o2, "s1")],
    );
    await s2.command("event", "deploy", "now");
    const userEvent = 3;
    await until(
      () => o1.heard.has(userEvent) && o2.heard.has(userEvent),
      20_000,
      () => [[...o1.heard], [...o2.heard]],
    );
  });

  test(`live ${steadyMs / 1000} s without a suspicion and without a word of complaint from serf`, async () => {
    await delay(steadyMs);
    expect(await views()).toEqual([s1, s2].map(() => ({ s1: "alive", s2: "alive", o1: "alive", o2: "alive" })));
    expect([...s1.log, ...s2.log].filter((line) => /\[(WARN|ERR)\]|suspect|refut/i.test(line))).toEqual([]);
    expect([...o1.events, ...o2.events].filter(({ type }) => type === "suspected" || type === "conflict")).toEqual([]);
  });

  test("agree on who left and who failed", async () => {
    o1.announceLeave();
    await until(() => bothSay("o1", "leaving"), 20_000, views);
    await o1.leave();
    await until(() => bothSay("o1", "left"), 20_000, views);
    await o1.member.destroy();

    const failing = o2.member.destroy();
    await until(() => bothSay("o2", "failed"), 60_000, views);
    await failing;

    await using o3 = await SerfPeer.start("o3", {});
    await o3.join(s2.address);
    await until(
      () => stateOf(o3, "s1")?.state === "alive" && stateOf(o3, "s2")?.state === "alive",
      20_000,
      () => o3.member.members(),
    );
    await s2.command("leave");
    await until(
      () => stateOf(o3, "s2")?.state === "left",
      20_000,
      () => o3.member.members(),
    );
    await s1.kill();
    await until(
      () => stateOf(o3, "s1")?.state === "dead",
      60_000,
      () => o3.member.members(),
    );
    expect(
      o3.events
        .filter(({ type }) => type === "left" || type === "failed")
        .map((event) => `${event.type} ${"member" in event ? event.member.name : ""}`),
    ).toEqual(["left s2", "failed s1"]);
  });

  test("join each other with a key, and without it they do not", async () => {
    const key = new Uint8Array(32).fill(7);
    await using s3 = await SerfAgent.start("s3", [`-encrypt=${Buffer.from(key).toString("base64")}`]);
    await using o3 = await SerfPeer.start("o3", {}, [key]);
    await s3.command("join", o3.address);
    const seen = async () => (await statuses(s3))["o3"] === "alive" && stateOf(o3, "s3")?.state === "alive";
    await until(seen, 20_000, () => [s3.log, o3.member.members()]);
    await using stranger = await SerfPeer.start("o4", {});
    await expect(stranger.join(s3.address)).rejects.toMatchObject({ code: "cluster_mismatch" });
    expect(await statuses(s3)).toEqual({ s3: "alive", o3: "alive" });
  });
});
