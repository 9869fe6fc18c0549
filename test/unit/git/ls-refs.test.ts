import { expect, test } from "vitest";
import type { RefValue, RepositoryView } from "../../../src/git/index.ts";
import { lsRefs } from "../../../src/git/ls-refs.ts";
import { encodePkt, PktReader } from "../../../src/git/pkt-line.ts";
import { refViewOf } from "../../support/git-fixture.ts";

const oid = "1".repeat(40);
const peeled = "2".repeat(40);

function viewOf(refs: RefValue[]): RepositoryView {
  return { objectFormat: "sha1", head: "refs/heads/main", refs: refViewOf(refs), snapshot: () => Promise.reject(new Error("not needed")) };
}

const filled = viewOf([
  { name: "refs/heads/main", oid },
  { name: "refs/heads/maintenance", oid },
  { name: "refs/tags/v1", oid, peeled },
]);

/** `|` stands for the delimiter. */
async function ask(view: RepositoryView, ...lines: string[]): Promise<string[]> {
  const body = Buffer.concat([...lines.map((line) => (line === "|" ? Buffer.from("0001") : encodePkt(line))), Buffer.from("0000")]);
  const reader = new PktReader(
    { maxBytes: 1 << 24 },
    (async function* () {
      yield body;
    })(),
  );
  const answer = (await lsRefs(view, reader)).toString();
  expect(answer.endsWith("0000")).toBe(true);
  return answer
    .slice(0, -4)
    .split("\n")
    .filter(Boolean)
    .map((line) => line.slice(4));
}

test("all refs come after HEAD, and capabilities before the delimiter are passed over", async () => {
  const lines = await ask(filled, "agent=x", "object-format=sha1\n", "server-option=y", "|");
  expect(lines).toEqual([`${oid} HEAD`, `${oid} refs/heads/main`, `${oid} refs/heads/maintenance`, `${oid} refs/tags/v1`]);
});

test("symref and peeled attributes come where they are asked for", async () => {
  const lines = await ask(filled, "|", "peel\n", "symrefs\n");
  expect(lines[0]).toBe(`${oid} HEAD symref-target:refs/heads/main`);
  expect(lines.at(-1)).toBe(`${oid} refs/tags/v1 peeled:${peeled}`);
});

test("prefixes choose, each ref once and in order", async () => {
  expect(await ask(filled, "|", "ref-prefix refs/tags/\n", "ref-prefix refs/heads/maint\n", "ref-prefix refs/heads/m\n")).toEqual([
    `${oid} refs/heads/main`,
    `${oid} refs/heads/maintenance`,
    `${oid} refs/tags/v1`,
  ]);
  expect(await ask(filled, "|", "ref-prefix HEAD")).toEqual([`${oid} HEAD`]);
  expect(await ask(filled, "|", "ref-prefix absent")).toEqual([]);
});

test("an unborn HEAD is told to those who ask for it and for what it names", async () => {
  expect(await ask(viewOf([]), "|", "symrefs", "unborn")).toEqual(["unborn HEAD symref-target:refs/heads/main"]);
  expect(await ask(viewOf([]), "|", "symrefs")).toEqual([]);
  expect(await ask(viewOf([]), "|", "unborn")).toEqual([]);
});

test("what is not understood is refused in git's words", async () => {
  await expect(ask(filled, "|", "frobnicate")).rejects.toMatchObject({
    code: "protocol_error",
    fields: { clientText: "unexpected line: 'frobnicate'" },
  });
  await expect(ask(filled, "object-format=sha256", "|")).rejects.toMatchObject({
    fields: { clientText: "mismatched object format: server sha1; client sha256" },
  });
});

// B110
test("one branch of fifty thousand tags is found without listing them", async () => {
  let listed = 0;
  const refs = refViewOf([
    ...Array.from({ length: 50_000 }, (_, i) => ({ name: `refs/tags/t${String(i).padStart(5, "0")}`, oid })),
    { name: "refs/heads/main", oid },
  ]);
  const counting = {
    ...filled,
    refs: {
      size: refs.size,
      get: refs.get,
      *withPrefix(prefix: string) {
        for (const ref of refs.withPrefix(prefix)) {
          listed++;
          yield ref;
        }
      },
    },
  };
  expect(await ask(counting, "|", "ref-prefix refs/heads/main")).toEqual([`${oid} refs/heads/main`]);
  expect(listed).toBe(1);
  expect(await ask(counting, "|")).toHaveLength(50_002);
});
