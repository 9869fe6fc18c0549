import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { writtenTypeScript } from "../support/source-files.ts";

// Reference pages are generated from the sources; `UPDATE_REFERENCE=1 npm test` writes them.
const read = (path: string) => readFileSync(join(packageRoot, path), "utf8");

function matches(page: string, content: string): void {
  const file = join(packageRoot, "docs", "reference", page);
  if (process.env["UPDATE_REFERENCE"]) {
    mkdirSync(join(packageRoot, "docs", "reference"), { recursive: true });
    writeFileSync(file, content);
  }
  expect(readFileSync(file, "utf8")).toBe(content);
}

test("docs/reference/errors.md lists every error code", () => {
  const union = /export type Code =([^;]+);/.exec(read("src/base/errors.ts"))?.[1] ?? "";
  const rows = [...union.matchAll(/\/\*\* (.+?) \*\/\s*\| "(\w+)"/g)].map(([, doc, code]) => `| \`${code}\` | ${doc} |`);
  expect(rows.length).toBe([...union.matchAll(/\| "/g)].length);
  matches(
    "errors.md",
    `# Errors\n\nEvery error has one of these codes; decide on them, never on messages.\n\n| code | meaning |\n|---|---|\n${rows.join("\n")}\n`,
  );
});

test("docs/reference/metrics.md lists every metric", () => {
  const pattern = /\.(counter|gauge|histogram)\(\s*"([a-z0-9_]+)",\s*"([^"]+)"(?:,\s*\[([^\]]*)\])?/g;
  const rows = writtenTypeScript
    .filter((path) => path.startsWith("src/") && !path.startsWith("src/observability/"))
    .flatMap((path) => [...read(path).matchAll(pattern)])
    .map(([, kind, name, help, labels]) => `| \`${name}\` | ${kind} | ${(labels ?? "").replaceAll('"', "")} | ${help} |`);
  matches(
    "metrics.md",
    `# Metrics\n\nServed at \`/metrics\` in Prometheus' text format.\n\n| name | kind | labels | meaning |\n|---|---|---|---|\n${[...new Set(rows)].sort().join("\n")}\n`,
  );
});
