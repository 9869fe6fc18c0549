import { readFileSync } from "node:fs";
import { errnoOf } from "../base/index.ts";

/** A process told apart from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as the kernel counts it; "" where the platform does not tell. */
  readonly startTime: string;
}

/** Identity of a running process. */
export function identify(pid: number): ProcessIdentity {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the command in parentheses and may hold anything; start time is the 22nd field.
    return { pid, startTime: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "" };
  } catch {
    return { pid, startTime: "" };
  }
}

/** Whether that very process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  let mayLook = true;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // Another user's process: it may well be a later one with the same pid.
    if (errnoOf(error) !== "EPERM") return false;
    mayLook = false;
  }
  const { startTime } = identify(identity.pid);
  return identity.startTime === "" || startTime === identity.startTime || (startTime === "" && !mayLook);
}
