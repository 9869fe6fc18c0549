import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";

const require = createRequire(import.meta.url);
const { exports, dependencies } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
  exports: Readonly<Record<string, string | { readonly types: string }>>;
  dependencies: Readonly<Record<string, string>>;
};
const entries = Object.entries(exports).flatMap(([name, target]) => (typeof target === "string" ? [] : [[name, target.types] as const]));

/** What the declarations of a source file name. */
function imports(file: string): string[] {
  const compilerOptions = { target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: false, stripInternal: false };
  const { outputText } = ts.transpileDeclaration(readFileSync(file, "utf8"), { fileName: file, compilerOptions });
  return ts.preProcessFile(outputText).importedFiles.map(({ fileName }) => fileName);
}

/** Packages that the declarations below `entry` name, each with a file that does. */
function packagesNamed(entry: string): Map<string, string> {
  const found = new Map<string, string>();
  const files = new Set([entry]);
  for (const file of files) {
    for (const name of imports(file)) {
      if (name.startsWith(".")) files.add(join(dirname(file), name));
      else if (!name.startsWith("node:")) found.set(name, file);
    }
  }
  return found;
}

function hasTypes(name: string): boolean {
  const folder = (require.resolve.paths(name) ?? []).map((path) => join(path, name)).find((path) => existsSync(join(path, "package.json")));
  if (folder === undefined) return false;
  const { types, typings } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { types?: string; typings?: string };
  return (types ?? typings) !== undefined || existsSync(join(folder, "index.d.ts"));
}

// With `skipLibCheck: false` a program's compiler reads all of them, and has only what is installed with this package.
test.each(entries)("the types of %s name only packages that are installed with this one and have types", (_, declarations) => {
  const entry = join(packageRoot, declarations.replace(/^\.\/dist\//, "").replace(/\.d\.ts$/, ".ts"));
  const packages = packagesNamed(entry);
  const wrong = [...packages].filter(([name]) => dependencies[name] === undefined || !hasTypes(name));
  expect(wrong).toEqual([]);
});
