import { spawn } from "node:child_process";
import { once } from "node:events";

/** What a person without any configuration of their own gets. */
const cleanEnv: Record<string, string | undefined> = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  LANG: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "A U Thor",
  GIT_AUTHOR_EMAIL: "author@example.com",
  GIT_COMMITTER_NAME: "C O Mitter",
  GIT_COMMITTER_EMAIL: "committer@example.com",
};

export interface GitResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the stock git client to its end, whatever its exit status. */
export async function runGit(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<GitResult> {
  const child = spawn("git", args, { cwd: options.cwd, env: { ...cleanEnv, ...options.env }, stdio: ["ignore", "pipe", "pipe"] });
  const stop = () => child.kill("SIGKILL");
  options.signal?.addEventListener("abort", stop, { once: true });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  options.signal?.removeEventListener("abort", stop);
  return { code: code ?? 128 + (signal === "SIGKILL" ? 9 : 0), stdout, stderr };
}

/** As `runGit`, and throws where git fails; returns what it printed. */
export async function git(...args: string[]): Promise<string> {
  const result = await runGit(args);
  if (result.code !== 0) throw new Error(`git ${args.join(" ")} failed with ${result.code}: ${result.stderr}`);
  return result.stdout;
}
