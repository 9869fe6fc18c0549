import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

/** A live process: what it runs, and when it started, which tells it from a later one with the same id. */
export interface ProcessInfo {
  readonly command: string;
  readonly startedAt: string;
}

/** What runs under `pid`; undefined for nothing, and for a zombie, which only waits to be buried. */
export async function processInfo(pid: number): Promise<ProcessInfo | undefined> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined;
  }
  return process.platform === "linux" ? await fromProc(pid) : await fromPs(pid);
}

async function fromProc(pid: number): Promise<ProcessInfo | undefined> {
  try {
    const [stat, command] = await Promise.all([readFile(`/proc/${pid}/stat`, "utf8"), readFile(`/proc/${pid}/cmdline`, "utf8")]);
    // The name in parentheses may hold anything; the fields come after the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    return { command: command.replaceAll("\0", " ").trim(), startedAt: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function fromPs(pid: number): Promise<ProcessInfo | undefined> {
  return new Promise((resolve) => {
    execFile(
      "ps",
      ["-o", "stat=,lstart=,command=", "-p", String(pid)],
      { env: { LC_ALL: "C", PATH: "/bin:/usr/bin" } },
      (error, stdout) => {
        const match = /^(\S+)\s+(\w+ +\w+ +\d+ +[\d:]+ +\d+)\s+(.*)$/.exec(stdout.trim());
        if (error || !match || match[1]?.startsWith("Z")) resolve(undefined);
        else resolve({ startedAt: match[2] ?? "", command: match[3] ?? "" });
      },
    );
  });
}
