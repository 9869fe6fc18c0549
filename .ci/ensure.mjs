// Installs only when the lockfile is newer than node_modules, builds only when a source is newer than dist.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, "dist", ".built");

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestMs(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), stat.mtimeMs);
}

function run(command, args) {
  // The commands' own output goes to stderr: stdout belongs to the program that is started next.
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (error) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}

if (modifiedMs(join(root, "node_modules", ".package-lock.json")) < modifiedMs(join(root, "package-lock.json"))) {
  console.error("Installing the packages of package-lock.json; this may take some minutes the first time.");
  run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]);
}
const sources = ["src", "cmd", "tsconfig.json", "package-lock.json"].map((name) => newestMs(join(root, name)));
if (modifiedMs(stamp) < Math.max(...sources)) {
  console.error("Building.");
  rmSync(join(root, "dist"), { recursive: true, force: true });
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", join(root, "tsconfig.json")]);
  writeFileSync(stamp, "");
}
