import { expect, test } from "vitest";
import type { RefValue, RepositoryView } from "../../../src/git/index.ts";
import { advertiseRefs } from "../../../src/git/ref-advertisement.ts";
import { refViewOf } from "../../support/git-fixture.ts";

const oid = "1".repeat(40);
const peeled = "2".repeat(40);

function viewOf(refs: RefValue[], objectFormat: "sha1" | "sha256" = "sha1"): RepositoryView {
  return { objectFormat, head: "refs/heads/main", refs: refViewOf(refs), snapshot: () => Promise.reject(new Error("not needed")) };
}

function text(view: RepositoryView, service: "git-upload-pack" | "git-receive-pack", gitProtocol = ""): string {
  return Buffer.concat([...advertiseRefs(view, service, gitProtocol, "git/test")]).toString("latin1");
}

const filled = viewOf([
  { name: "refs/tags/v1", oid, peeled },
  { name: "refs/heads/main", oid: peeled },
]);

test("refs come after HEAD, tags with what they lead to, capabilities behind the first", () => {
  const lines = text(filled, "git-upload-pack").split("\n");
  expect(lines[0]).toBe("001e# service=git-upload-pack");
  expect(lines[1]).toMatch(
    new RegExp(`^0000[0-9a-f]{4}${peeled} HEAD\0multi_ack .* symref=HEAD:refs/heads/main object-format=sha1 agent=git/test$`),
  );
  expect(lines.slice(2).map((line) => line.slice(4))).toEqual([
    `${peeled} refs/heads/main`,
    `${oid} refs/tags/v1`,
    `${peeled} refs/tags/v1^{}`,
    "",
  ]);
});

test("version 1 says so first, version 2 lists what it can do, and pushes know no version 2", () => {
  expect(text(filled, "git-upload-pack", "version=1")).toContain("0000000eversion 1\n");
  const second = text(filled, "git-upload-pack", "version=2");
  expect(second).toBe(
    "001e# service=git-upload-pack\n0000000eversion 2\n0013agent=git/test\n0013ls-refs=unborn\n0027fetch=shallow wait-for-done filter\n" +
      "0012server-option\n0017object-format=sha1\n0010object-info\n0000",
  );
  expect(text(filled, "git-receive-pack", "version=2")).toBe(text(filled, "git-receive-pack"));
});

test("pushes see neither HEAD nor what tags lead to", () => {
  const body = text(filled, "git-receive-pack");
  expect(body).not.toContain("HEAD");
  expect(body).not.toContain("^{}");
  expect(body).toContain(
    "\0report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-options object-format=sha1",
  );
});

test("an empty repository has a line of zeros, as long as its ids", () => {
  expect(text(viewOf([]), "git-upload-pack")).toContain(`${"0".repeat(40)} capabilities^{}\0`);
  expect(text(viewOf([], "sha256"), "git-receive-pack")).toContain(`${"0".repeat(64)} capabilities^{}\0`);
  expect(text(viewOf([]), "git-upload-pack")).not.toContain("symref=");
});

test("a long body comes in pieces, the second time from memory", () => {
  const many = viewOf(Array.from({ length: 20_000 }, (_, i) => ({ name: `refs/tags/${String(i).padStart(5, "0")}`, oid })));
  const first = [...advertiseRefs(many, "git-upload-pack", "", "git/test")];
  expect(Math.max(...first.map((chunk) => chunk.length))).toBeLessThanOrEqual(131_072);
  const second = [...advertiseRefs(many, "git-upload-pack", "", "git/test")];
  expect(second[0]?.buffer).toBe(first[0]?.buffer);
});
