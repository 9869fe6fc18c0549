import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, neverAborted, packageRoot, type Random } from "../base/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { CatfilePool } from "./catfile-pool.ts";
import { DirectSpawner } from "./direct-spawner.ts";
import type { Git } from "./git.ts";
import { isAtLeast, readGitVersion } from "./git-version.ts";
import { HelperSpawner } from "./helper-spawner.ts";
import { ObjectReader } from "./object-reader.ts";
import { defaultProcessGateOptions, ProcessGate, type ProcessGateOptions } from "./process-gate.ts";
import { ReceivePack, type ReceivePackLimits } from "./receive-pack.ts";
import { advertiseRefs } from "./ref-advertisement.ts";
import type { Spawner } from "./spawner.ts";
import { UploadPack, type UploadPackLimits } from "./upload-pack.ts";

export interface GitOptions extends ProcessGateOptions, UploadPackLimits, ReceivePackLimits {
  /** Pooled cat-file processes; default 32. */
  readonly maxCatfileProcesses: number;
  /** How long a pooled cat-file process may rest; default 30 s. */
  readonly catfileIdleMs: number;
  /** Objects read whole; default 64 MiB. */
  readonly maxObjectBytes: number;
  /** For small private files. Belongs to this process alone and is emptied at start. Default: a new directory in the system's place for them. */
  readonly tempDir?: string;
  /** How children start: by the helper process where it is built, or from this process; default "auto". */
  readonly spawner: "auto" | "direct";
}

/** What a node uses where nothing else is said. */
export const defaultGitOptions: GitOptions = {
  ...defaultProcessGateOptions,
  maxRequestBytes: 134_217_728,
  maxCommandBytes: 33_554_432,
  maxPackBytes: 34_359_738_368,
  keepAliveMs: 5000,
  maxCatfileProcesses: 32,
  catfileIdleMs: 30_000,
  maxObjectBytes: 67_108_864,
  spawner: "auto",
};

export interface GitDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Checks the git program and starts what serves it. Disposing ends every child. Errors: `bad_config` for a git that is missing or too old. */
export async function createGit(options: Partial<GitOptions>, deps: GitDeps): Promise<Git> {
  const all: GitOptions = { ...defaultGitOptions, ...options };
  const logger = deps.logger.child({ part: "git" });
  const { clock, metrics } = deps;
  const dir = await privateDir(all.tempDir);
  const spawner = createSpawner(all, dir, logger);
  try {
    const gate = new ProcessGate(all, { clock, metrics, spawner });
    const version = await readGitVersion(gate, all.binPath, neverAborted);
    const pool = new CatfilePool({ maxProcesses: all.maxCatfileProcesses, idleMs: all.catfileIdleMs, dir }, { clock, metrics, gate });
    await pool.prepare();
    const uploadPack = new UploadPack(all, gate);
    const receivePack = new ReceivePack(all, { clock, logger, gate, pool, fsckTakesSeverities: isAtLeast(version, [2, 44]) });
    const objects = new ObjectReader(all, pool);
    const agent = `git/${version}`;
    return {
      version,
      advertise: (view, service, gitProtocol) => advertiseRefs(view, service, gitProtocol, agent),
      uploadPack: (view, body, uploadOptions) => uploadPack.serve(view, body, uploadOptions),
      receivePack: (view, body, receiveOptions) => receivePack.serve(view, body, receiveOptions),
      disconnected: (view, quarantineDir, commands, signal) => receivePack.disconnected(view, quarantineDir, commands, signal),
      readObject: (view, revision, as, signal) => objects.read(view, revision, as, signal),
      [Symbol.asyncDispose]: async () => {
        await pool[Symbol.asyncDispose]();
        await spawner[Symbol.asyncDispose]();
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await spawner[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

/** Empty: what a killed process left in a directory of its own goes. */
async function privateDir(given: string | undefined): Promise<string> {
  if (given === undefined) return await mkdtemp(join(tmpdir(), "gitaly-git-"));
  await rm(given, { recursive: true, force: true });
  await mkdir(given, { recursive: true, mode: 0o700 });
  return given;
}

function createSpawner(options: GitOptions, dir: string, logger: Logger): Spawner {
  const entryPath = helperEntry();
  if (options.spawner === "auto" && entryPath !== undefined) return new HelperSpawner({ entryPath, dir }, { logger });
  if (options.spawner === "auto") logger.info("spawn helper is not built; git children start from this process");
  return new DirectSpawner();
}

/** The helper runs from the build only: this file's own, or, where this file runs as source, that of the package. */
function helperEntry(): string | undefined {
  const beside = fileURLToPath(new URL("./spawner-main.js", import.meta.url));
  return [beside, join(packageRoot, "dist", "src", "git", "spawner-main.js")].find((path) => existsSync(path));
}
