import { expect, test } from "vitest";
import { checkVersions, fitsVersions, versionVector } from "../../../src/gossip/versions.ts";

const own = Uint8Array.of(1, 5, 2, 0, 0, 0);
const node = (state: string, ...versions: number[]) => ({
  name: `${state}-${versions.join(".")}`,
  state,
  versions: Uint8Array.from(versions),
});
const ours = node("alive", ...own);

test("a member says which protocols it understands and speaks, and the same of its application", () => {
  expect([...versionVector(2, [0, 0, 0])]).toEqual([1, 5, 2, 0, 0, 0]);
  expect([...versionVector(1, [2, 5, 4])]).toEqual([1, 5, 1, 2, 5, 4]);
});

test.each([
  [0, [0, 0, 0]],
  [6, [0, 0, 0]],
  [1.5, [0, 0, 0]],
  [2, [1, 3, 0]],
  [2, [1, 3, 4]],
  [2, [0, 256, 0]],
  [2, [-1, 3, 1]],
] as const)("protocol %j with delegate versions %j is an error", (protocolVersion, delegate) => {
  expect(() => versionVector(protocolVersion, delegate)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test.each([
  ["nothing", [], true],
  ["two bytes", [1, 5], true],
  ["three bytes", [1, 5, 2], true],
  ["the same", [1, 5, 2, 0, 0, 0], true],
  ["an older range that reaches ours", [1, 2, 2, 0, 0, 0], true],
  ["another current version of our range", [1, 5, 4, 0, 0, 0], true],
  ["a range that ends below us", [1, 1, 1, 0, 0, 0], false],
  ["a range that begins above us", [3, 5, 3, 0, 0, 0], false],
  ["versions from the future", [6, 7, 7, 0, 0, 0], false],
  ["zero", [0, 0, 0, 0, 0, 0], false],
  ["a lowest version of zero", [0, 5, 2, 0, 0, 0], false],
  ["a range the wrong way round", [5, 1, 2, 0, 0, 0], false],
  ["a current version outside of its range", [1, 2, 4, 0, 0, 0], false],
  ["application versions without ours", [1, 5, 2, 2, 5, 4], false],
  ["an application version outside of its range", [1, 5, 2, 0, 1, 3], false],
])("a claim that names %s is taken or not: %j, %j", (_what, versions, taken) => {
  expect(fitsVersions(Uint8Array.from(versions), own)).toBe(taken);
});

test("a member with application versions takes claims that understand its own one", () => {
  const serf = versionVector(2, [2, 5, 4]);
  expect(fitsVersions(Uint8Array.of(1, 5, 2, 2, 5, 5), serf)).toBe(true);
  expect(fitsVersions(Uint8Array.of(1, 5, 2, 0, 0, 0), serf)).toBe(false);
});

test("what is said of versions that do not go together is short, however long they are", () => {
  const long = { name: "n2", state: "alive", versions: new Uint8Array(1 << 20).fill(9) };
  const fields = expect.objectContaining({ node: "n2", versions: [9, 9, 9, 9, 9, 9] });
  expect(() => checkVersions([long], [ours])).toThrow(expect.objectContaining({ code: "cluster_mismatch", fields }));
});

test.each([
  ["the same versions", [node("alive", 1, 5, 2, 0, 0, 0)], true],
  ["nobody", [], true],
  ["a live node that speaks less than another understands at least", [node("alive", 3, 5, 3, 0, 0, 0)], false],
  ["a live node that understands less than others speak", [node("alive", 1, 1, 1, 0, 0, 0)], false],
  ["a dead node with a narrow range and a common version", [node("dead", 2, 2, 2, 0, 0, 0)], true],
  ["a dead node that spoke what nobody understands", [node("dead", 6, 7, 7, 0, 0, 0)], false],
  ["a live node of a future protocol", [node("alive", 6, 7, 7, 0, 0, 0)], false],
  ["a node that names no versions", [node("left")], false],
  ["a live node with too few of them", [node("alive", 1, 5, 2)], true],
  ["another application version", [node("alive", 1, 5, 2, 2, 5, 4)], false],
])("a view with %s is merged or not", (_what, remote, merged) => {
  const check = () => checkVersions(remote, [ours]);
  if (merged) expect(check).not.toThrow();
  else
    expect(check).toThrow(expect.objectContaining({ code: "cluster_mismatch", fields: expect.objectContaining({ reason: "versions" }) }));
});
