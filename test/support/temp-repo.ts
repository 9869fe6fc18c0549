import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const environment: NodeJS.ProcessEnv = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
  GIT_AUTHOR_NAME: "Author",
  GIT_AUTHOR_EMAIL: "author@example.com",
  GIT_COMMITTER_NAME: "Committer",
  GIT_COMMITTER_EMAIL: "committer@example.com",
  GIT_AUTHOR_DATE: "1700000000 +0000",
  GIT_COMMITTER_DATE: "1700000000 +0000",
};

export interface GitRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A work tree of stock git in a directory of its own, removed when disposed. */
export class TempRepo implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** `git init` with branch `main`; `init: false` leaves the directory empty. */
  static async create(options: { objectFormat?: "sha1" | "sha256"; init?: boolean } = {}): Promise<TempRepo> {
    const repo = new TempRepo(await mkdtemp(join(tmpdir(), "gitaly-test-repo-")));
    if (options.init !== false) await repo.git("init", "-q", "-b", "main", `--object-format=${options.objectFormat ?? "sha1"}`, ".");
    return repo;
  }

  /** Runs stock git in this directory; throws where it fails. Answers stdout without the last line end. */
  async git(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.tryGit(...args);
    if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`);
    return stdout.replace(/\n$/, "");
  }

  /** Runs stock git, whatever comes of it. */
  async tryGit(...args: string[]): Promise<GitRun> {
    return await new Promise((resolve) => {
      execFile("git", args, { cwd: this.dir, env: environment, maxBuffer: 1 << 26, encoding: "latin1" }, (error, stdout, stderr) => {
        resolve({ code: error ? (typeof error.code === "number" ? error.code : 255) : 0, stdout, stderr });
      });
    });
  }

  /** Writes a file and commits it; answers the commit's id. */
  async commit(name: string, content: string | Uint8Array, message = `Change ${name}`): Promise<string> {
    await writeFile(join(this.dir, name), content);
    await this.git("add", "--", name);
    await this.git("commit", "-q", "-m", message);
    return await this.git("rev-parse", "HEAD");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}
