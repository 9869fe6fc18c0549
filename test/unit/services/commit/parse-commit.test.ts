import { expect, test } from "vitest";
import { parseCommit } from "../../../../src/services/commit/parse-commit.ts";

const oid = "c".repeat(40);
const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const parse = (text: string, trailers = false) => parseCommit(oid, Buffer.from(text, "latin1"), { trailers });
const text = (bytes: unknown) => Buffer.from(bytes as Buffer).toString("latin1");

const head = `tree ${tree}\nparent ${"a".repeat(40)}\nparent ${"b".repeat(40)}\nauthor J\xf6 <j@x> 1700000000 +0900\ncommitter C D <c@x> 1700000001 -0330\n`;

test("a commit's fields are the bytes of the object", () => {
  const commit = parse(`${head}\nSubj\xe9ct\n\nBody\n`);
  expect(commit).toMatchObject({
    id: oid,
    treeId: tree,
    parentIds: ["a".repeat(40), "b".repeat(40)],
    bodySize: "14",
    signatureType: "NONE",
    encoding: "",
    trailers: [],
    author: { date: { seconds: "1700000000", nanos: 0 } },
    committer: { date: { seconds: "1700000001", nanos: 0 } },
  });
  expect(text(commit.subject)).toBe("Subj\xe9ct");
  expect(text(commit.body)).toBe("Subj\xe9ct\n\nBody\n");
  expect([text(commit.author?.name), text(commit.author?.email), text(commit.author?.timezone)]).toEqual(["J\xf6", "j@x", "+0900"]);
  expect([text(commit.committer?.name), text(commit.committer?.timezone)]).toEqual(["C D", "-0330"]);
});

test("a body above 10 KiB is left out, its size is told", () => {
  const most = parse(`${head}\n${"x".repeat(10 * 1024)}`);
  expect(text(most.body)).toHaveLength(10 * 1024);
  const more = parse(`${head}\ns\n${"x".repeat(10 * 1024)}`);
  expect(text(more.body)).toBe("");
  expect(text(more.subject)).toBe("s");
  expect(more.bodySize).toBe(String(10 * 1024 + 2));
});

test("an encoding header is told and changes no byte", () => {
  const commit = parse(`${head}encoding ISO-8859-1\n\ncaf\xe9\n`);
  expect(commit.encoding).toBe("ISO-8859-1");
  expect(text(commit.subject)).toBe("caf\xe9");
});

test.each([
  ["-----BEGIN PGP SIGNATURE-----", "PGP"],
  ["-----BEGIN PGP MESSAGE-----", "PGP"],
  ["-----BEGIN SSH SIGNATURE-----", "SSH"],
  ["-----BEGIN SIGNED MESSAGE-----", "X509"],
  ["-----BEGIN NONSENSE-----", "NONE"],
])("a signature that starts with %s is of type %s", (line, type) => {
  const commit = parse(`${head}gpgsig ${line}\n \n author Fake <f@x> 1 +0000\n parent zzz\n -----END-----\n\nsigned\n`);
  expect(commit.signatureType).toBe(type);
  expect(commit.parentIds).toHaveLength(2);
  expect(text(commit.author?.name)).toBe("J\xf6");
  expect(text(commit.subject)).toBe("signed");
});

test.each([
  ["A<gh <A<a@b>> 1282910542 +0200", { name: "A", email: "gh <A<a@b", seconds: "1282910542", timezone: "+0200" }],
  ["A <a> notadate +0000", { name: "A", email: "a", seconds: "9223371974719179007", timezone: "+0000" }],
  ["A <a> 99999999999999999999 +0000", { name: "A", email: "a", seconds: "9223371974719179007", timezone: "+0000" }],
  ["A <a> -1 +0000", { name: "A", email: "a", seconds: "9223371974719179007", timezone: "+0000" }],
  ["A <a> 12", { name: "A", email: "a", seconds: "12", timezone: "" }],
  ["A <a>", { name: "A", email: "a", seconds: undefined, timezone: "" }],
  ["A <a", { name: "A", email: "", seconds: undefined, timezone: "" }],
  ["no mail at all", { name: "no mail at all", email: "", seconds: undefined, timezone: "" }],
  ["<> 1 +0000", { name: "", email: "", seconds: "1", timezone: "+0000" }],
])("the author line %j is read as far as it goes", (line, expected) => {
  const { author } = parse(`tree ${tree}\nauthor ${line}\n\nm\n`);
  expect({
    name: text(author?.name),
    email: text(author?.email),
    seconds: author?.date?.seconds,
    timezone: text(author?.timezone),
  }).toEqual(expected);
});

test.each(["", "\n", "tree", " x", "\n\nm", "author\n\n", "tree x"])(
  "the broken object %j gives a commit with what there is",
  (content) => {
    expect(parse(content, true)).toMatchObject({ id: oid, parentIds: [], author: null, committer: null });
  },
);

test("trailers are read only when asked for", () => {
  const message = "s\n\nA: b\n";
  expect(parse(`${head}\n${message}`).trailers).toEqual([]);
  const [trailer] = parse(`${head}\n${message}`, true).trailers ?? [];
  expect([text(trailer?.key), text(trailer?.value)]).toEqual(["A", "b"]);
});
