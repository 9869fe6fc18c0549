import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ChildExit, EndStage, SpawnRequest } from "./spawner.ts";

const stderrTailBytes = 10_000;
const stderrLiveBytes = 65_536;

export interface ChildRunHandlers {
  readonly onStderr: (chunk: Buffer) => void;
  readonly onExit: (exit: ChildExit) => void;
}

/** One running child, in the process that is its parent. */
export class ChildRun {
  readonly process: ChildProcess;
  #tail = Buffer.alloc(0);
  #liveBytes = 0;
  #exited = false;
  #reported = false;

  constructor(request: SpawnRequest, stdio: StdioOptions, handlers: ChildRunHandlers) {
    this.process = spawn(request.file, [...request.args], { env: { ...request.env }, cwd: request.cwd, stdio, detached: true });
    this.process.stderr?.on("data", (chunk: Buffer) => {
      this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-stderrTailBytes);
      const live = chunk.subarray(0, stderrLiveBytes - this.#liveBytes);
      this.#liveBytes += live.length;
      if (live.length > 0) handlers.onStderr(live);
    });
    const report = (exit: Omit<ChildExit, "stderr">) => {
      if (this.#reported) return;
      this.#reported = true;
      handlers.onExit({ ...exit, stderr: this.#tail.toString("latin1") });
    };
    this.process.on("error", (error: NodeJS.ErrnoException) => {
      // Errors of kill() come here too; the child's end is reported by "close" then.
      if (this.process.pid === undefined) report({ code: undefined, signal: undefined, problem: error.code ?? "spawn failed" });
    });
    this.process.on("exit", (code) => {
      // A child that died early may leave grandchildren, which would hold stderr open.
      if (code !== 0) this.end("kill");
      this.#exited = true;
    });
    this.process.on("close", (code, signal) => report({ code: code ?? undefined, signal: signal ?? undefined, problem: undefined }));
  }

  end(stage: EndStage): void {
    const { pid } = this.process;
    if (pid === undefined || this.#exited) return;
    const children = stage === "gentle" ? childrenOf(pid) : [];
    for (const child of children) send(child, "SIGTERM");
    if (children.length === 0) send(-pid, stage === "kill" ? "SIGKILL" : "SIGTERM");
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}

/** Where the platform does not tell, the list is empty. */
function childrenOf(pid: number): number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
    return list.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
