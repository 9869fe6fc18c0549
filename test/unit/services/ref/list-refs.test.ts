import { expect, test } from "vitest";
import type { ListRefsRequest__Output } from "../../../../src/proto/gen/gitaly/ListRefsRequest.ts";
import { messageCodec } from "../../../../src/proto/index.ts";
import { listRefs } from "../../../../src/services/ref/list-refs.ts";
import { collect, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const oidOf = (digit: string) => digit.repeat(40);
const [a, b, c] = [oidOf("a"), oidOf("b"), oidOf("c")];

function fixtureWithRefs(): ServicesFixture {
  const fixture = new ServicesFixture();
  fixture.add("a.git", {
    "refs/heads/main": a,
    "refs/heads/\xc4hh": b,
    "refs/heads/x/y": c,
    "refs/tags/v1": { name: "refs/tags/v1", oid: oidOf("d"), peeled: a },
  });
  return fixture;
}

function request(content: Partial<ListRefsRequest__Output> & { like?: string[] }): ListRefsRequest__Output {
  return {
    repository: repositoryMessage("a.git"),
    patterns: (content.like ?? ["refs/"]).map((pattern) => Buffer.from(pattern, "latin1")),
    head: false,
    sortBy: null,
    pointingAtOids: [],
    peelTags: false,
    paginationParams: null,
    ...content,
  };
}

async function list(fixture: ServicesFixture, content: Parameters<typeof request>[0]) {
  const messages = await collect(listRefs(fixture.deps)(request(content), fixture.call()));
  expect(fixture.openLeases).toBe(0);
  const references = messages.flatMap((message) => message.references ?? []);
  return {
    names: references.map(({ name }) => Buffer.from(name as Buffer).toString("latin1")),
    references,
    cursor: messages.at(-1)?.paginationCursor?.nextCursor,
  };
}

test("refs come by name, each once, whichever patterns match them", async () => {
  const { names } = await list(fixtureWithRefs(), { like: ["refs/tags", "refs/heads/*", "refs/heads/main"] });
  expect(names).toEqual(["refs/heads/main", "refs/heads/\xc4hh", "refs/tags/v1"]);
});

test("descending order is the reverse", async () => {
  const { names } = await list(fixtureWithRefs(), { like: ["refs/heads/"], sortBy: { key: "REFNAME", direction: "DESCENDING" } });
  expect(names).toEqual(["refs/heads/\xc4hh", "refs/heads/x/y", "refs/heads/main"]);
});

test("HEAD comes first where it is asked for and born", async () => {
  const fixture = fixtureWithRefs();
  const { references } = await list(fixture, { like: ["refs/tags/"], head: true });
  expect(references.map(({ target }) => target)).toEqual([a, oidOf("d")]);
  fixture.add("a.git", {}, { head: "refs/heads/none" });
  expect((await list(fixture, { head: true })).names).toEqual([]);
});

test("tags are peeled when asked", async () => {
  const { references } = await list(fixtureWithRefs(), { like: ["refs/tags/v1", "refs/heads/main"], peelTags: true });
  expect(references.map(({ peeledTarget }) => peeledTarget)).toEqual([undefined, a]);
});

test("pointing_at_oids keeps refs and tags that lead to one of them", async () => {
  const { names } = await list(fixtureWithRefs(), { pointingAtOids: [Buffer.from(a)] });
  expect(names).toEqual(["refs/heads/main", "refs/tags/v1"]);
});

test("pages follow one another, through a ref name that is not UTF-8 and one that was deleted meanwhile", async () => {
  const fixture = fixtureWithRefs();
  const page = (pageToken: string) =>
    list(fixture, { paginationParams: { pageToken, limit: 1 }, sortBy: { key: "REFNAME", direction: "DESCENDING" } });
  const first = await page("");
  expect(first.names).toEqual(["refs/tags/v1"]);
  const second = await page(first.cursor ?? "");
  expect(second.names).toEqual(["refs/heads/\xc4hh"]);
  const repository = fixture.repositories.get("a.git");
  if (repository) repository.refs = repository.refs.filter(({ name }) => name !== "refs/heads/\xc4hh");
  const third = await page(second.cursor ?? "");
  expect(third.names).toEqual(["refs/heads/x/y"]);
  const fourth = await page(third.cursor ?? "");
  expect(fourth).toMatchObject({ names: ["refs/heads/main"], cursor: undefined });
});

const commit = (oid: string, author: string, committer: string) => ({
  oid,
  type: "commit" as const,
  sizeBytes: 1,
  content: Buffer.from(`tree x\nauthor A <a> ${author} +0000\ncommitter C <c> ${committer} +0000\n\nm\n`),
});

test("sorting by date reads the dates; what has none counts as the oldest", async () => {
  const fixture = fixtureWithRefs();
  fixture.objects.set(a, commit(a, "1", "30"));
  fixture.objects.set(b, commit(b, "2", "20"));
  fixture.objects.set(c, commit(c, "3", "broken"));
  const tag = Buffer.from(`object ${a}\ntype commit\ntag v1\ntagger T <t> 25 +0000\n\nm\n`);
  fixture.objects.set(oidOf("d"), { oid: oidOf("d"), type: "tag", sizeBytes: 1, content: tag });
  const by = async (key: "CREATORDATE" | "AUTHORDATE" | "COMMITTERDATE", direction: "ASCENDING" | "DESCENDING") =>
    (await list(fixture, { sortBy: { key, direction } })).names.map((name) => name.split("/").at(-1));
  expect(await by("COMMITTERDATE", "ASCENDING")).toEqual(["y", "v1", "\xc4hh", "main"]);
  expect(await by("CREATORDATE", "DESCENDING")).toEqual(["main", "v1", "\xc4hh", "y"]);
  expect(await by("AUTHORDATE", "DESCENDING")).toEqual(["y", "\xc4hh", "main", "v1"]);
});

test("a ref whose object git does not find is no ref without a date", async () => {
  const sorted = list(fixtureWithRefs(), { sortBy: { key: "CREATORDATE", direction: "ASCENDING" } });
  await expect(sorted).rejects.toMatchObject({ code: "corrupt" });
});

test.each([
  ["no pattern", { patterns: [] }],
  ["an empty pattern", { like: [""] }],
  ["an endless pattern", { like: ["x".repeat(1025)] }],
  ["too many patterns", { like: Array.from({ length: 4097 }, (_, i) => `refs/${i}`) }],
  ["too many globs", { like: Array.from({ length: 65 }, (_, i) => `refs/${i}*`) }],
  ["half an object id", { pointingAtOids: [Buffer.from("abcd")] }],
  [
    "a page token out of nowhere",
    { sortBy: { key: "CREATORDATE", direction: "ASCENDING" }, paginationParams: { pageToken: "x", limit: 1 } },
  ],
] as const)("%s is the caller's mistake", async (_, content) => {
  const fixture = fixtureWithRefs();
  for (const oid of [a, b, c, oidOf("d")]) fixture.objects.set(oid, commit(oid, "1", "1"));
  await expect(list(fixture, content as unknown as Parameters<typeof request>[0])).rejects.toMatchObject({ code: "invalid_argument" });
  expect(fixture.openLeases).toBe(0);
});

// B83
test("60,000 refs come in messages of at most 1 MiB", async () => {
  const fixture = new ServicesFixture();
  const many = Array.from({ length: 60_000 }, (_, i) => [`refs/heads/a-rather-long-branch-name/${i}`, a] as const);
  fixture.add("a.git", Object.fromEntries(many));
  const codec = messageCodec<object, object>("gitaly.ListRefsResponse");
  const sizes: number[] = [];
  let count = 0;
  for await (const message of listRefs(fixture.deps)(request({}), fixture.call())) {
    sizes.push(codec.encode(message).length);
    count += message.references?.length ?? 0;
  }
  expect(count).toBe(60_000);
  expect(sizes.length).toBeGreaterThan(4);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
});
