import fc from "fast-check";
import { parse, stringify } from "smol-toml";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { loadConfig, showConfig } from "../../src/config/index.ts";
import { keys } from "../../src/config/keys.ts";
import { tomlIndex, tomlLines, tomlName } from "../../src/config/toml-lines.ts";
import { configInput } from "../support/config-input.ts";

const runs = { numRuns: 2000, interruptAfterTimeLimit: 10_000 };
const names = [...Object.keys(keys), "auth", "storage", "git.config", "prometheus", "__proto__", "constructor", "a.b", "cluster"];
const leaf = fc.oneof(
  fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constantFrom("10s", "127.0.0.1:0", "http://h"),
);
const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(fc.string(), leaf, { maxKeys: 3 }));
const fragments = [
  "a",
  "cluster",
  ".",
  "=",
  "[",
  "]",
  "{",
  "}",
  ",",
  "\n",
  '"',
  "'",
  '"""',
  "'''",
  "#",
  "\\",
  " ",
  "1",
  "true",
  "=1\n",
  "[[",
  "]]",
  "\r\n",
  "replicas",
  "\ufeff",
];
const tomlSoup = fc
  .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 3 })), { maxLength: 40 })
  .map((parts) => parts.join(""));
const tomlDocument = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 8 }).map((entries) => {
  const root: Record<string, unknown> = {};
  for (const [name, item] of entries)
    Object.defineProperty(root, name, { value: item, enumerable: true, configurable: true, writable: true });
  return stringify(root);
});
const tomlKeys = fc
  .array(fc.tuple(fc.constantFrom(...names), fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }))), { maxLength: 6 })
  .map((entries) => [...new Map(entries)].map(([name, item]) => `${name} = ${stringify({ x: item }).trimEnd().slice(4)}\n`).join(""));
const anyText = fc.oneof(fc.string({ maxLength: 200 }), tomlSoup, tomlDocument, tomlKeys);

test("any text of a file gives a configuration, or one error that lists problems with their places", () => {
  fc.assert(
    fc.property(anyText, (toml) => {
      try {
        expect(Object.isFrozen(loadConfig(configInput({ toml })))).toBe(true);
        parse(showConfig(configInput({ toml })).toml, { integersAsBigInt: "asNeeded" });
      } catch (error) {
        if (!CodedError.is(error)) throw error;
        expect(["bad_config", "not_built_yet"]).toContain(error.code);
        const problems = error.fields["problems"] as { where: string; message: string }[];
        expect(problems.length).toBeGreaterThan(0);
        for (const problem of problems) {
          expect(problem.message).not.toBe("");
          expect(problem.where).toMatch(/^(gitaly\.toml(:\d+)?|)$/);
        }
      }
    }),
    runs,
  );
});

/** The names of all keys and tables below `value`, as the line finder writes them. */
function namesIn(value: unknown, name: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => (isTable(item) ? namesIn(item, tomlIndex(name, index)) : []));
  if (!isTable(value)) return [];
  return Object.entries(value).flatMap(([segment, inner]) => {
    const own = name === "" ? tomlName([segment]) : `${name}.${tomlName([segment])}`;
    return [own, ...namesIn(inner, own)];
  });
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

test("every key of any valid file has a line inside the file", () => {
  fc.assert(
    fc.property(anyText, (toml) => {
      let root: unknown;
      try {
        root = parse(toml, { integersAsBigInt: "asNeeded" });
      } catch {
        fc.pre(false);
      }
      const lines = tomlLines(toml);
      const count = toml.split("\n").length;
      const missing = namesIn(root, "").filter((name) => !((lines.get(name) ?? 0) >= 1 && (lines.get(name) ?? 0) <= count));
      expect(missing).toEqual([]);
    }),
    { ...runs, maxSkipsPerRun: 100_000 },
  );
});

test("any environment and any flags give a configuration or a listed error", () => {
  const flagNames = Object.values(keys).flatMap((spec) => ("flag" in spec && spec.flag !== undefined ? [spec.flag] : []));
  const text = fc.oneof(fc.string(), fc.constantFrom("10s", "127.0.0.1:0", ":", "http://h", "grpcs://h", "1", "true", "s3://b", "a,b,,"));
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(...Object.keys(keys).map((key) => `GITALY_${key.toUpperCase().replace(/\W/g, "_")}`), "GITALY_X"),
        text,
        { maxKeys: 5 },
      ),
      fc.dictionary(fc.constantFrom(...flagNames, "token-file"), fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.boolean()), {
        maxKeys: 5,
      }),
      (env, flags) => {
        try {
          loadConfig(configInput({ env, flags }));
        } catch (error) {
          if (!CodedError.is(error)) throw error;
          expect((error.fields["problems"] as unknown[]).length).toBeGreaterThan(0);
        }
      },
    ),
    runs,
  );
});
