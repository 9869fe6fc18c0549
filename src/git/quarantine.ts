import { mkdir, open, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { CodedError } from "../base/index.ts";
import { fsckSeverities } from "./command-table.ts";
import { feed } from "./feed.ts";
import type { ReceivedPack } from "./git.ts";
import type { GitDirectories } from "./git-environment.ts";
import { gitFailed, type ProcessGate } from "./process-gate.ts";
import type { RepositorySnapshot } from "./repository-view.ts";
import type { ChildExit } from "./spawner.ts";

export interface QuarantineDeps {
  readonly gate: ProcessGate;
  /** Whether `index-pack --fsck-objects` takes severities. */
  readonly fsckTakesSeverities: boolean;
}

export interface IndexPackOptions {
  readonly maxPackBytes: number;
  readonly onStderr: ((chunk: Uint8Array) => void) | undefined;
  readonly signal: AbortSignal;
}

/** Where the objects of one push wait until its refs move: readable together with the repository, and by nobody else. */
export class Quarantine {
  readonly directories: GitDirectories;
  readonly #packDir: string;
  readonly #deps: QuarantineDeps;

  constructor(quarantineDir: string, snapshot: RepositorySnapshot, deps: QuarantineDeps) {
    const objectDir = join(quarantineDir, "objects");
    this.directories = { gitDir: snapshot.gitDir, objectDir, alternates: [snapshot.objectDir] };
    this.#packDir = join(objectDir, "pack");
    this.#deps = deps;
  }

  /** Makes the directories that children expect. */
  async prepare(): Promise<void> {
    await mkdir(this.#packDir, { recursive: true });
  }

  /** Indexes and checks the pack that `source` brings. Errors: `git_failed` where the pack is not sound; whatever the source throws. */
  async indexPack(source: AsyncIterator<Uint8Array>, options: IndexPackOptions): Promise<ReceivedPack> {
    await this.prepare();
    const exit = await this.#indexStream(source, options);
    if (exit.code === 0) return await this.#received();
    const complete = exit.code === undefined ? undefined : await this.#keptPack();
    // A pack that lacks an object may still be right for some of its refs: look again without that check, then judge ref by ref.
    if (complete === undefined || !(await this.#indexFile(complete, options.signal))) throw gitFailed("index-pack", exit);
    return await this.#received();
  }

  async #indexStream(source: AsyncIterator<Uint8Array>, options: IndexPackOptions): Promise<ChildExit> {
    await using child = await this.#deps.gate.start(
      {
        command: "index-pack",
        flags: [
          "--stdin",
          "--fix-thin",
          `--strict${fsckSeverities}`,
          `--max-input-size=${options.maxPackBytes}`,
          ...(options.onStderr ? ["--show-resolving-progress"] : []),
        ],
        directories: this.directories,
        ...(options.onStderr ? { onStderr: options.onStderr } : {}),
      },
      options.signal,
    );
    child.stdout.resume();
    const { error } = await feed(source, child.stdin, child.exited);
    if (error !== undefined) throw error;
    const exit = await child.exited;
    options.signal.throwIfAborted();
    return exit;
  }

  async #indexFile(packFile: string, signal: AbortSignal): Promise<boolean> {
    const flag = this.#deps.fsckTakesSeverities ? `--fsck-objects${fsckSeverities}` : "--fsck-objects";
    await using child = await this.#deps.gate.start(
      { command: "index-pack", flags: [flag], path: packFile, directories: this.directories },
      signal,
    );
    child.stdout.resume();
    child.stdin.end();
    const { code } = await child.exited;
    signal.throwIfAborted();
    return code === 0;
  }

  /** The pack as index-pack left it when it refused. */
  async #keptPack(): Promise<string | undefined> {
    const names = (await readdir(this.#packDir)).filter((name) => name.startsWith("tmp_pack_"));
    if (names.length !== 1) return undefined;
    const kept = join(this.#packDir, "pack-incomplete.pack");
    await rename(join(this.#packDir, names[0] as string), kept);
    return kept;
  }

  async #received(): Promise<ReceivedPack> {
    const names = await readdir(this.#packDir);
    const find = (suffix: string) => {
      const name = names.find((candidate) => candidate.startsWith("pack-") && candidate.endsWith(suffix));
      return name === undefined ? undefined : join(this.#packDir, name);
    };
    const [packFile, indexFile, reverseIndexFile] = [find(".pack"), find(".idx"), find(".rev")];
    if (!packFile || !indexFile) throw new CodedError("git_failed", "git left no pack");
    const objectCount = await objectCountOf(packFile);
    return { packFile, indexFile, objectCount, ...(reverseIndexFile ? { reverseIndexFile } : {}) };
  }
}

async function objectCountOf(packFile: string): Promise<number> {
  await using file = await open(packFile, "r");
  const header = Buffer.alloc(12);
  await file.read(header, 0, 12, 0);
  return header.readUInt32BE(8);
}
