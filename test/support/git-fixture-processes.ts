import { readdirSync, readFileSync } from "node:fs";

/** Processes whose command line or directory mentions `word`, zombies of this process's children included; Linux only. */
export function processesMentioning(word: string): string[] {
  const found: string[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ");
      const environment = readFileSync(`/proc/${name}/environ`, "latin1");
      if (line.includes(word) || environment.includes(word)) found.push(`${name} ${line}`);
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/** Dead `git` processes that nobody has collected, among those that were started with a session of their own. */
export function defunctGit(): string[] {
  const found: string[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      if (/^\d+ \(git[^)]*\) Z \d+ (\d+) \1 /.test(stat)) found.push(stat.slice(0, 60));
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/** Waits until `condition` holds, for at most `ms`; answers whether it does. */
export async function eventually(condition: () => boolean, ms: number): Promise<boolean> {
  const endMs = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > endMs) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \([^)]*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
