import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { packageRoot } from "../../src/base/index.ts";

/** The spawn helper built on the spot, so that tests do not depend on an earlier build. */
export async function buildSpawnHelper(): Promise<{ readonly entryPath: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), "gitaly-test-helper-"));
  await writeFile(join(dir, "package.json"), '{"type":"module"}');
  for (const name of ["spawner-main", "child-run"]) {
    const source = await readFile(join(packageRoot, "src", "git", `${name}.ts`), "utf8");
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: true,
      },
    });
    await writeFile(join(dir, `${name}.js`), outputText);
  }
  return { entryPath: join(dir, "spawner-main.js"), [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}
