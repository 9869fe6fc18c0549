import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import type { CheckedPush, CommandResult } from "../../../../src/git/index.ts";
import type { PostReceivePackRequest__Output } from "../../../../src/proto/gen/gitaly/PostReceivePackRequest.ts";
import { postReceivePack } from "../../../../src/services/smart-http/post-receive-pack.ts";
import { collect, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const zero = "0".repeat(40);
const one = "1".repeat(40);
const two = "2".repeat(40);

const first: PostReceivePackRequest__Output = {
  repository: repositoryMessage("a.git"),
  data: Buffer.alloc(0),
  glId: "user-1",
  glRepository: "",
  glUsername: "",
  gitProtocol: "",
  gitConfigOptions: [],
};

async function* stream(...messages: PostReceivePackRequest__Output[]) {
  yield* messages;
}

const pack = { packFile: "/q/pack", indexFile: "/q/idx", objectCount: 3 };

/** A git that has checked `push` and answers with what `publish` says. */
function fixtureWith(push: CheckedPush, refs: Record<string, string> = {}): ServicesFixture {
  const fixture = new ServicesFixture();
  fixture.add("a.git", refs);
  fixture.git = {
    receivePack: async function* (_view, body, options) {
      await collect(body);
      for (const result of await options.publish(push, options.signal)) yield Buffer.from(`${describe(result)}\n`);
    },
  };
  return fixture;
}

function describe(result: CommandResult): string {
  return `${result.status} ${result.ref}${result.status === "ok" ? "" : ` ${result.reason}`}`;
}

async function push(fixture: ServicesFixture, deps = fixture.deps): Promise<string> {
  const messages = await collect(postReceivePack(deps)(stream(first, { ...first, data: Buffer.from("PACK") }), fixture.call()));
  return messages.map(({ data }) => String(data)).join("");
}

const create: CheckedPush = { commands: [{ ref: "refs/heads/a", oldOid: zero, newOid: one }], atomic: true, pack };

test("a checked push is published on the generation it was checked against, and noted", async () => {
  const fixture = fixtureWith(create);
  const adopted: number[] = [];
  fixture.cache = { adopt: async (generation) => adopted.push(generation.n) };
  const deps = fixture.deps;
  expect(await push(fixture, deps)).toBe("ok refs/heads/a\n");
  expect(fixture.published).toMatchObject([{ path: "a.git", base: { n: 1 }, atomic: true, updates: create.commands, packs: [pack] }]);
  expect(adopted).toEqual([2]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(fixture.recorded).toMatchObject([{ path: "a.git", generation: 2 }]);
  expect(fixture.openLeases).toBe(0);
});

// B93
test("a push that is so already is reported as done without another generation", async () => {
  const fixture = fixtureWith(
    { commands: [...create.commands, { ref: "refs/heads/gone", oldOid: two, newOid: zero }], atomic: false, pack },
    { "refs/heads/a": one },
  );
  expect(await push(fixture)).toBe("ok refs/heads/a\nok refs/heads/gone\n");
  expect(fixture.published).toEqual([]);
});

test("the refs are asked again on another base through a lease of their own", async () => {
  const fixture = fixtureWith(create);
  const asked: string[] = [];
  fixture.git.disconnected = async (view, dir) => {
    asked.push(`${dir} ${"generation" in view}`);
    return ["refs/heads/a"];
  };
  fixture.storage = {
    publish: async ({ base, updates, disconnected }, signal) => {
      const refs = await disconnected({ ...base, n: 5 }, updates, signal);
      return { generation: base, results: updates.map(({ ref }) => ({ ref, status: "rejected", reason: `not connected: ${refs}` })) };
    },
  };
  expect(await push(fixture)).toBe("rejected refs/heads/a not connected: refs/heads/a\n");
  expect(asked).toEqual(["/quarantine true"]);
  expect(fixture.recorded).toEqual([]);
  expect(fixture.openLeases).toBe(0);
});

test.each([
  [1, "rejected refs/heads/a not connected: \n", 2],
  [0, "rejected refs/heads/a not connected: refs/heads/a\n", 1],
])("refs that miss objects on another base are looked at again where %i of its files were damaged", async (damaged, answer, looks) => {
  const fixture = fixtureWith(create);
  const reported: number[] = [];
  let asked = 0;
  fixture.git.disconnected = async () => (asked++ === 0 ? ["refs/heads/a"] : []);
  fixture.cache = {
    reportDamage: async ({ generation }) => {
      reported.push(generation.n);
      return damaged;
    },
  };
  fixture.storage = {
    publish: async ({ base, updates, disconnected }, signal) => {
      const refs = await disconnected({ ...base, n: 5 }, updates, signal);
      return { generation: base, results: updates.map(({ ref }) => ({ ref, status: "rejected", reason: `not connected: ${refs}` })) };
    },
  };
  expect(await push(fixture)).toBe(answer);
  expect(reported).toEqual([5]);
  expect(asked).toBe(looks);
  expect(fixture.openLeases).toBe(0);
});

test("an error of the store is git's to report", async () => {
  const fixture = fixtureWith(create);
  fixture.storage = {
    publish: async () => {
      throw new CodedError("store_unavailable", "no answer");
    },
  };
  await expect(push(fixture)).rejects.toMatchObject({ code: "store_unavailable" });
  expect(fixture.openLeases).toBe(0);
});

test("the quarantine goes with the call, also where the push fails", async () => {
  const fixture = fixtureWith(create);
  let open = 0;
  fixture.cache = {
    quarantine: async () => {
      open++;
      return { dir: "/quarantine", [Symbol.asyncDispose]: async () => void open-- };
    },
  };
  fixture.git.receivePack = async function* () {
    expect(open).toBe(1);
    yield Buffer.from("x");
    throw new CodedError("protocol_error", "nonsense");
  };
  await expect(push(fixture)).rejects.toMatchObject({ code: "protocol_error" });
  expect(open).toBe(0);
});

test.each([
  ["data in the first message", { data: Buffer.from("x") }, "non-empty Data"],
  ["no user", { glId: "" }, "empty GlId"],
  ["no repository", { repository: null }, "repository not set"],
  ["an option for git", { gitConfigOptions: ["core.hooksPath=/tmp"] }, "git_config_options: core.hookspath is not supported here"],
])("%s is the caller's mistake", async (_, wrong, message) => {
  const fixture = fixtureWith(create);
  const answer = collect(postReceivePack(fixture.deps)(stream({ ...first, ...wrong }), fixture.call()));
  await expect(answer).rejects.toMatchObject({ code: "invalid_argument", message });
});
