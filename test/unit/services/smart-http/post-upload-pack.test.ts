import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import type { PostUploadPackRequest__Output } from "../../../../src/proto/gen/gitaly/PostUploadPackRequest.ts";
import { postUploadPack } from "../../../../src/services/smart-http/post-upload-pack.ts";
import { collect, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const empty = { repository: null, data: Buffer.alloc(0), gitConfigOptions: [], gitProtocol: "" };
const first: PostUploadPackRequest__Output = { ...empty, repository: repositoryMessage("a.git"), gitProtocol: "version=2" };

async function* stream(...messages: PostUploadPackRequest__Output[]) {
  yield* messages;
}

const data = (text: string): PostUploadPackRequest__Output => ({ ...empty, data: Buffer.from(text) });

async function text(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collect(body)).toString();
}

function fixtureWith(uploadPack: NonNullable<ServicesFixture["git"]["uploadPack"]>): ServicesFixture {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  fixture.git = { uploadPack };
  return fixture;
}

const answerOf = async (fixture: ServicesFixture, ...messages: PostUploadPackRequest__Output[]) => {
  try {
    return await collect(postUploadPack(fixture.deps)(stream(...messages), fixture.call()));
  } finally {
    expect(fixture.openLeases).toBe(0);
  }
};

test("the data of the messages after the first is the body, and the answer comes in pieces of at most 128 KiB", async () => {
  const fixture = fixtureWith(async function* (_view, body, { gitProtocol }) {
    yield Buffer.from(`${gitProtocol} ${await text(body)}`);
    yield Buffer.alloc(300 * 1024);
  });
  const messages = await answerOf(fixture, first, data("one "), data(""), data("two"));
  const sizes = messages.map((message) => (message.data as Buffer).length);
  expect(String(messages[0]?.data)).toBe("version=2 one two");
  expect(sizes.slice(1)).toEqual([128 * 1024, 128 * 1024, 44 * 1024]);
});

test.each([
  ["no message", [], "no request message"],
  ["data in the first message", [{ ...first, data: Buffer.from("x") }], "non-empty Data"],
  ["no repository", [empty], "repository not set"],
  [
    "an option for git",
    [{ ...first, gitConfigOptions: ["uploadpack.packObjectsHook=x"] }],
    "git_config_options: uploadpack.packobjectshook is not supported here",
  ],
])("%s is the caller's mistake", async (_, messages, message) => {
  const fixture = fixtureWith(async function* () {});
  await expect(answerOf(fixture, ...messages)).rejects.toMatchObject({ code: "invalid_argument", message });
});

// B22
test("git that fails ends the call with an error, behind the bytes it sent before", async () => {
  const fixture = fixtureWith(async function* () {
    yield Buffer.alloc(64 * 1024);
    throw new CodedError("git_failed", "upload-pack failed");
  });
  const answer = postUploadPack(fixture.deps)(stream(first), fixture.call());
  expect((await answer.next()).value).toMatchObject({ data: { length: 64 * 1024 } });
  await expect(answer.next()).rejects.toMatchObject({ code: "git_failed" });
  expect(fixture.openLeases).toBe(0);
});

// B09
test("git that fails over a damaged file is started again with the same request before the client hears of it", async () => {
  let runs = 0;
  const fixture = fixtureWith(async function* (_view, body) {
    const request = await text(body);
    if (++runs === 1) {
      yield Buffer.from("half an answer");
      throw new CodedError("git_failed", "bad pack");
    }
    yield Buffer.from(`whole answer to ${request}`);
  });
  fixture.cache = { reportDamage: async () => 1 };
  const messages = await answerOf(fixture, first, data("want"));
  expect(messages.map((message) => String(message.data))).toEqual(["whole answer to want"]);
});

test("the first bytes are not held back for long", async () => {
  let nowMs = 0;
  const fixture = fixtureWith(async function* () {
    yield Buffer.from("header");
    nowMs += 5000;
    yield Buffer.from("alive");
    throw new CodedError("git_failed", "late");
  });
  fixture.clock = { ...fixture.clock, monotonic: () => nowMs };
  const answer = postUploadPack(fixture.deps)(stream(first), fixture.call());
  expect(String((await answer.next()).value?.data)).toBe("header");
  expect(String((await answer.next()).value?.data)).toBe("alive");
  await expect(answer.next()).rejects.toMatchObject({ code: "git_failed" });
});

test("damage that is found after the client got bytes makes the call worth another try", async () => {
  const fixture = fixtureWith(async function* () {
    yield Buffer.alloc(1024);
    throw new CodedError("git_failed", "bad pack");
  });
  fixture.cache = { reportDamage: async () => 1 };
  await expect(answerOf(fixture, first)).rejects.toMatchObject({ code: "node_unavailable", retryAfterMs: 100 });
});

test("a client that leaves early lets the lease and its own stream go", async () => {
  let left = false;
  const fixture = fixtureWith(async function* (_view, body) {
    for await (const chunk of body) yield Buffer.concat([chunk, Buffer.alloc(1024)]);
  });
  const requests = (async function* () {
    try {
      yield first;
      for (;;) yield data("x");
    } finally {
      left = true;
    }
  })();
  for await (const _ of postUploadPack(fixture.deps)(requests, fixture.call())) break;
  expect(fixture.openLeases).toBe(0);
  expect(left).toBe(true);
});
