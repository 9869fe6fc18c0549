import { spawn } from "node:child_process";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type BinariesDir, copyBinaries } from "./binaries.ts";

/** How a program ended. */
interface RunResult {
  readonly code: number;
  /** The end of what it said. */
  readonly output: string;
}

/** Runs PostgreSQL's programs under an identity that they accept: they refuse to be root. */
export interface Runner {
  run(program: "initdb" | "pg_ctl", args: readonly string[]): Promise<RunResult>;
  /** Makes a file or directory of ours usable under that identity. */
  handOver(path: string): Promise<void>;
}

/** The account that every Unix has for this. */
const nobody = 65534;
const userNamespace = ["--user", `--map-user=${nobody}`, `--map-group=${nobody}`, "--"];

/** Who runs the server. `auto`: this user; for root a user namespace where the kernel allows it, else the account `nobody`. */
export type RunAs = "auto" | "nobody";

/** Picks the way that works here. `root`: the directory that holds data directory and log. */
export async function createRunner(binaries: BinariesDir, root: string, runAs: RunAs): Promise<Runner> {
  const own = async () => {};
  if (process.getuid?.() !== 0) return { run: (program, args) => execute(join(binaries, "bin", program), args, {}), handOver: own };
  if (runAs === "auto" && (await execute("unshare", [...userNamespace, "true"], {})).code === 0) {
    return { run: (program, args) => execute("unshare", [...userNamespace, join(binaries, "bin", program), ...args], {}), handOver: own };
  }
  await mkdir(root, { recursive: true, mode: 0o711 });
  // The account must pass through; names and files in it stay unreadable.
  await chmod(root, 0o711);
  // The installed ones may lie below a directory that only root may enter.
  const reachable = await copyBinaries(binaries, join(root, "postgres-bin"));
  return {
    run: (program, args) => execute(join(reachable, "bin", program), args, { uid: nobody, gid: nobody }),
    handOver: (path) => chown(path, nobody, nobody),
  };
}

const maxOutputChars = 4096;

function execute(file: string, args: readonly string[], identity: { uid?: number; gid?: number }): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = spawn(file, [...args], {
      ...identity,
      cwd: "/",
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-maxOutputChars);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => resolve({ code: -1, output: error.message }));
    // Not "close": the server that pg_ctl leaves behind may hold the pipes.
    child.on("exit", (code) => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code: code ?? -1, output });
    });
  });
}
