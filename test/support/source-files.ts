import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/base/index.ts";

/** The project's files: tracked by git, or new and not ignored; relative to the package root. */
export const projectFiles: readonly string[] = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: packageRoot,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(packageRoot, path)));

/** TypeScript that people wrote: what generators wrote is left out. */
export const writtenTypeScript: readonly string[] = projectFiles.filter(
  (path) => path.endsWith(".ts") && !path.startsWith("src/proto/gen/") && path !== "src/ring/rendezvous-wasm.ts",
);
