import { CodedError } from "../base/index.ts";
import { gitFailed, type ProcessGate } from "./process-gate.ts";

const oldest = [2, 39] as const;

/** The git program's version, for example "2.39.5". Errors: `bad_config` where it is missing or too old. */
export async function readGitVersion(gate: ProcessGate, binPath: string, signal: AbortSignal): Promise<string> {
  await using child = await gate.start({ command: "version", flags: [] }, signal);
  child.stdin.end();
  let text = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (text.length < 1000) text += chunk.toString("latin1");
  }
  const exit = await child.exited;
  signal.throwIfAborted();
  const version = exit.code === 0 ? /^git version (\d+\.\d+(?:\.\d+)*)/.exec(text)?.[1] : undefined;
  if (version === undefined) {
    throw new CodedError("bad_config", "git does not run; see [git] bin_path", { binPath }, { cause: gitFailed("version", exit) });
  }
  if (!isAtLeast(version, oldest)) {
    throw new CodedError("bad_config", "git is too old; version 2.39 or newer is needed", { binPath, version });
  }
  return version;
}

/** Whether `version` is the wanted one or newer. */
export function isAtLeast(version: string, [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
