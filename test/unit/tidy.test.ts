import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { packageDefinition } from "../../src/proto/index.ts";
import { projectFiles, writtenTypeScript } from "../support/source-files.ts";

// The house rules that no other tool checks. Each test lists every breach at once.
const read = (path: string) => readFileSync(join(packageRoot, path), "utf8");
const maxFileLines = 400;
const maxFunctionLines = 70;

function longFunctions(path: string): string[] {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const line = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const lines = line(node.end) - line(node.getStart()) + 1;
      if (lines > maxFunctionLines) found.push(`${path}:${line(node.getStart())} ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("no file is longer than 400 lines", () => {
  const long = writtenTypeScript.map((path) => [path, read(path).split("\n").length] as const).filter(([, lines]) => lines > maxFileLines);
  expect(long).toEqual([]);
});

test("no function in src is longer than 70 lines", () => {
  expect(writtenTypeScript.filter((path) => path.startsWith("src/") || path.startsWith("cmd/")).flatMap(longFunctions)).toEqual([]);
});

test("only the clock touches the platform's time, and only the random source its randomness", () => {
  const banned = /\b(Date\.now|performance\.now|new Date\(\)|Math\.random|AbortSignal\.timeout)\b|["']node:timers/;
  const breaches = writtenTypeScript
    .filter((path) => path.startsWith("src/") && path !== "src/base/clock.ts")
    .flatMap((path) =>
      read(path)
        .split("\n")
        .flatMap((line, i) => (banned.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
    );
  expect(breaches).toEqual([]);
});

const kebab = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1-$2")
    .toLowerCase();

const rpcs = Object.entries(packageDefinition)
  .filter(([name, definition]) => /^gitaly(_gossip\.v1)?\.\w+$/.test(name) && !("format" in definition))
  .flatMap(([service, methods]) =>
    Object.keys(methods).map((method) => ({
      folder: kebab((service.split(".").at(-1) ?? "").replace(/Service$/, "")),
      file: kebab(method),
    })),
  );

test("each RPC has its file and its test", () => {
  expect(rpcs.length).toBeGreaterThan(10);
  const missing = rpcs.flatMap(({ folder, file }) => [
    ...(projectFiles.includes(`src/services/${folder}/${file}.ts`) ? [] : [`src/services/${folder}/${file}.ts`]),
    ...(projectFiles.some((path) => path.startsWith("test/") && path.includes("services") && path.endsWith(`/${file}.test.ts`))
      ? []
      : [`test/unit/services/${folder}/${file}.test.ts`]),
  ]);
  expect(missing).toEqual([]);
});

test("nothing is left to do without an issue", () => {
  const marks = writtenTypeScript.filter(
    (path) => path !== "test/unit/tidy.test.ts" && /\b(TODO|FIXME|XXX)\b(?!\(#\d+\))/.test(read(path)),
  );
  expect(marks).toEqual([]);
});

test("links in the documentation lead somewhere", () => {
  const broken = projectFiles
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
        .map(([, target]) => normalize(join(dirname(path), target as string)))
        .filter((target) => !projectFiles.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, "")}/`)))
        .map((target) => `${path} -> ${target}`),
    );
  expect(broken).toEqual([]);
});

test("tests and sources name no place outside of the project", () => {
  const places = projectFiles
    .filter((path) => /\.(ts|js|mjs|cjs|md|json|sh|proto)$/.test(path) || path.startsWith(".ci/"))
    .filter((path) => path !== "test/unit/tidy.test.ts" && /\.\.\/shared\b|(?<![\w/.])\/work\//.test(read(path)));
  expect(places).toEqual([]);
});
