import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  artifactKey,
  artifactName,
  encodeRepositoryPath,
  generationsPrefix,
  markerKey,
  parseArtifactName,
  slotKey,
  slotOfKey,
} from "../../../src/storage/keys.ts";

interface Golden {
  readonly paths: Readonly<Record<string, string>>;
  readonly slots: Readonly<Record<string, string>>;
  readonly artifact: string;
  readonly artifactKey: string;
  readonly marker: string;
}

const golden = JSON.parse(readFileSync(new URL("./golden/keys.json", import.meta.url), "utf8")) as Golden;
const id = (digit: string) => digit.repeat(32);

test("encoded paths are what they always were", () => {
  const encoded = Object.fromEntries(Object.keys(golden.paths).map((path) => [path, encodeRepositoryPath(path)]));
  expect(encoded).toEqual(golden.paths);
});

test("slot keys are what they always were, and can be read back", () => {
  for (const [n, key] of Object.entries(golden.slots)) {
    expect(slotKey("p.a", Number(n))).toBe(key);
    expect(slotOfKey("p.a", key)).toBe(Number(n));
  }
});

test("artifact and marker keys are what they always were", () => {
  const name = artifactName({ repoId: id("a"), gcEpoch: 12, txid: id("b"), sha256: "c".repeat(64), ext: "pack" });
  expect(name).toBe(golden.artifact);
  expect(artifactKey(id("d"), name)).toBe(golden.artifactKey);
  expect(markerKey(id("d"), id("a"), 7, encodeRepositoryPath("a/b.git"))).toBe(golden.marker);
});

test("a newer generation's key sorts before an older one's", () => {
  const keys = [1, 2, 15, 16, 4096, 2 ** 40, Number.MAX_SAFE_INTEGER].map((n) => slotKey("p.a", n));
  expect([...keys].sort()).toEqual([...keys].reverse());
});

// B154: whatever the path holds, keys have only characters that every store takes.
test("an encoded path has only safe characters and stays below 151", () => {
  for (const path of ["a+b c/100%/저장소", "A/B", "..git", "x".repeat(148), "x".repeat(149), "저".repeat(300), "~%2f%"]) {
    expect(encodeRepositoryPath(path)).toMatch(/^[ph]\.[a-z0-9_%-]{1,148}$/);
  }
  expect(encodeRepositoryPath("a%2fb")).not.toBe(encodeRepositoryPath("a/b"));
});

test("what is no slot of the repository is told apart", () => {
  for (const key of ["x", `${generationsPrefix("p.a")}zz`, `${generationsPrefix("p.a")}ffffffffffffff`, slotKey("p.b", 1)]) {
    expect(slotOfKey("p.a", key)).toBeUndefined();
  }
  expect(() => slotKey("p.a", 0)).toThrow();
});

test("only well-formed artifact names are read", () => {
  const good = golden.artifact;
  expect(parseArtifactName(good)).toEqual({ repoId: id("a"), gcEpoch: 12, txid: id("b"), sha256: "c".repeat(64), ext: "pack" });
  const bad = ["", "../x", `${good}x`, good.replace(".12.", ".012."), good.replace("pack", "exe"), good.toUpperCase(), `${good}\n`];
  for (const name of bad) expect(parseArtifactName(name)).toBeUndefined();
});
