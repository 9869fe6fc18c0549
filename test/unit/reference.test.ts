import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { protoDir } from "../../src/proto/index.ts";
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
  const pattern = /\.(counter|gauge|histogram)\(\s*"([a-z0-9_]+)",\s*"([^"]+)"(?:,\s*(?:\[([^\]]*)\]|(\w+)[,)]))?/g;
  const rows = writtenTypeScript
    .filter((path) => path.startsWith("src/") && !path.startsWith("src/observability/"))
    .flatMap((path) => {
      const text = read(path);
      const labelsNamed = (name: string) => new RegExp(`const ${name} = \\[([^\\]]*)\\]`).exec(text)?.[1] ?? "";
      return [...text.matchAll(pattern)].map(([, kind, name, help, list, constant]) => {
        const labels = (constant ? labelsNamed(constant) : (list ?? "")).replace(/\.\.\.(\w+)/g, (_, spread: string) =>
          labelsNamed(spread),
        );
        return `| \`${name}\` | ${kind} | ${[...labels.matchAll(/"(\w+)"/g)].map(([, label]) => label).join(", ")} | ${help} |`;
      });
    });
  expect(rows.every((row) => row.split("|").length === 6 && !row.includes("\n"))).toBe(true);
  matches(
    "metrics.md",
    `# Metrics\n\nServed at \`/metrics\` in Prometheus' text format.\n\n| name | kind | labels | meaning |\n|---|---|---|---|\n${[...new Set(rows)].sort().join("\n")}\n`,
  );
});

test("docs/reference/messages.md lists our own messages with their field numbers, which are frozen", () => {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(protoDir, target);
  root.loadSync(["cluster", "generation", "redirect"].map((name) => `gitaly_gossip/v1/${name}.proto`)).resolveAll();
  const sections: string[] = [];
  const visit = (object: protobuf.ReflectionObject) => {
    if (object instanceof protobuf.Type) {
      const rows = object.fieldsArray
        .sort((a, b) => a.id - b.id)
        .map(
          (field) =>
            `| ${field.id} | \`${field.name}\` | ${field instanceof protobuf.MapField ? `map of ${field.keyType} to ` : field.repeated ? "repeated " : ""}${field.type} |`,
        );
      sections.push(
        `## ${object.fullName.slice(1)}\n\n${rows.length > 0 ? `| number | field | type |\n|---|---|---|\n${rows.join("\n")}\n` : "No fields.\n"}`,
      );
    } else if (object instanceof protobuf.Enum) {
      const rows = Object.entries(object.values).map(([name, value]) => `| ${value} | \`${name}\` |`);
      sections.push(`## ${object.fullName.slice(1)}\n\n| number | value |\n|---|---|\n${rows.join("\n")}\n`);
    }
    if (object instanceof protobuf.Namespace) object.nestedArray.forEach((nested) => void visit(nested));
  };
  visit(root.lookup("gitaly_gossip.v1") as protobuf.Namespace);
  matches(
    "messages.md",
    `# Messages\n\nThe protobuf messages of package \`gitaly_gossip.v1\`: what is stored, gossiped and asked between nodes. Numbers are frozen: a field may be added, none is ever renumbered or reused.\n\n${sections.join("\n")}`,
  );
});
