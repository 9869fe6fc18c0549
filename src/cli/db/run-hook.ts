import { spawn } from "node:child_process";
import { type Clock, startDeadline } from "../../base/index.ts";

/** Runs a shell command with `env` and resolves with how it ended: 0, or why not. Never rejects. */
export type RunHook = (command: string, env: Readonly<Record<string, string | undefined>>, signal: AbortSignal) => Promise<number | string>;

const timeoutMs = 60_000;
const graceMs = 2000;

/** Runs commands with the terminal's own output; one that takes longer than a minute is ended, with all that it started. */
export function hookRunner(clock: Clock): RunHook {
  return async (command, env, signal) => {
    using deadline = startDeadline(clock, timeoutMs, signal);
    const child = spawn("/bin/sh", ["-c", command], { env: { ...env }, stdio: ["ignore", "inherit", "inherit"], detached: true });
    const kill = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name);
      } catch {
        // All of it has ended already.
      }
    };
    let grace: Disposable | undefined;
    const onAbort = () => {
      kill("SIGTERM");
      grace = clock.timer(graceMs, () => kill("SIGKILL"));
    };
    deadline.signal.addEventListener("abort", onAbort, { once: true });
    if (deadline.signal.aborted) onAbort();
    try {
      return await new Promise<number | string>((resolve) => {
        child.on("error", (error) => resolve(error.message));
        child.on("exit", (code, name) => resolve(code ?? `ended by ${name}`));
      });
    } finally {
      deadline.signal.removeEventListener("abort", onAbort);
      // What the shell started and left must not meddle with the next run.
      if (deadline.signal.aborted) kill("SIGKILL");
      grace?.[Symbol.dispose]();
    }
  };
}
