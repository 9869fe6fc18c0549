import type { Readable, Writable } from "node:stream";
import { ChildRun } from "./child-run.ts";
import type { ChildExit, SpawnedChild, Spawner, SpawnRequest } from "./spawner.ts";

/** Forks from this process: its event loop stands still for each fork, for longer the more memory it has. */
export class DirectSpawner implements Spawner {
  readonly #running = new Set<ChildRun>();
  readonly #ends = new Set<Promise<ChildExit>>();

  async spawn(request: SpawnRequest, onStderr: (chunk: Uint8Array) => void = () => {}): Promise<SpawnedChild> {
    let report: (exit: ChildExit) => void = () => {};
    const exited = new Promise<ChildExit>((resolve) => {
      report = resolve;
    });
    const run = new ChildRun(request, ["pipe", "pipe", "pipe"], { onStderr, onExit: (exit) => report(exit) });
    this.#running.add(run);
    this.#ends.add(exited);
    void exited.then(() => {
      this.#running.delete(run);
      this.#ends.delete(exited);
    });
    const stdin = run.process.stdin as Writable;
    // A child may end before it has read everything; its exit says so.
    stdin.on("error", () => {});
    return { stdin, stdout: run.process.stdout as Readable, exited, end: (stage) => run.end(stage) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#running) {
      run.end("kill");
      run.process.stdin?.destroy();
      run.process.stdout?.destroy();
    }
    await Promise.all(this.#ends);
  }
}
