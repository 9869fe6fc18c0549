import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../src/base/index.ts";
import { defaultProcessGateOptions, type GitInvocation, ProcessGate, type ProcessGateOptions } from "../../../src/git/process-gate.ts";
import type { ChildExit, EndStage, SpawnedChild, Spawner, SpawnRequest } from "../../../src/git/spawner.ts";
import { noMetrics } from "../../../src/observability/index.ts";
import { SimClock } from "../../support/sim-clock.ts";

/** A child that dies of whatever stage it is told to. */
class FakeSpawner implements Spawner {
  readonly requests: SpawnRequest[] = [];
  readonly stages: [number, EndStage][] = [];
  diesAt: EndStage = "gentle";
  readonly #clock: SimClock;

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  async spawn(request: SpawnRequest): Promise<SpawnedChild> {
    this.requests.push(request);
    let exit: (exit: ChildExit) => void = () => {};
    const exited = new Promise<ChildExit>((resolve) => {
      exit = resolve;
    });
    const end = (stage: EndStage) => {
      this.stages.push([this.#clock.monotonic(), stage]);
      if (stage === this.diesAt) exit({ code: undefined, signal: "SIGTERM", stderr: "", problem: undefined });
    };
    return { stdin: new PassThrough(), stdout: new PassThrough(), exited, end };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function gateOf(options: Partial<ProcessGateOptions> = {}): { gate: ProcessGate; spawner: FakeSpawner; clock: SimClock } {
  const clock = new SimClock();
  const spawner = new FakeSpawner(clock);
  return { gate: new ProcessGate({ ...defaultProcessGateOptions, ...options }, { clock, metrics: noMetrics, spawner }), spawner, clock };
}

const revList: GitInvocation = { command: "rev-list", flags: ["--objects"] };
const catFile: GitInvocation = { command: "cat-file", flags: ["--batch-command"], longLived: true };

test("a child that does not end gently is ended harder, step by step", async () => {
  const { gate, spawner, clock } = gateOf();
  spawner.diesAt = "kill";
  const child = await gate.start(revList, neverAborted);
  await clock.until(Promise.resolve(child[Symbol.asyncDispose]()));
  expect(spawner.stages).toEqual([
    [0, "gentle"],
    [500, "terminate"],
    [3000, "kill"],
  ]);
  await clock.advance(10_000);
  expect(spawner.stages).toHaveLength(3);
});

test("an aborted signal ends the child, and one aborted before starts none", async () => {
  const { gate, spawner } = gateOf();
  const controller = new AbortController();
  const child = await gate.start(revList, controller.signal);
  controller.abort(new Error("enough"));
  expect((await child.exited).signal).toBe("SIGTERM");
  await expect(gate.start(revList, controller.signal)).rejects.toThrow("enough");
  expect(spawner.requests).toHaveLength(1);
  await child[Symbol.asyncDispose]();
  expect(spawner.stages).toEqual([[0, "gentle"]]);
});

test("a child that takes too long is ended, and its exit says why", async () => {
  const { gate, clock } = gateOf({ deadlineMs: 60_000 });
  const child = await gate.start(revList, neverAborted);
  expect(await clock.until(child.exited)).toMatchObject({ code: undefined, problem: "deadline passed" });
  await child[Symbol.asyncDispose]();
});

test("only so many children run, only so many calls wait, and pooled children do not count", async () => {
  const { gate, spawner } = gateOf({ maxChildren: 1, maxWaiting: 1 });
  const pooled = await gate.start(catFile, neverAborted);
  const first = await gate.start(revList, neverAborted);
  const waiting = gate.start(revList, neverAborted);
  await expect(gate.start(revList, neverAborted)).rejects.toMatchObject({ code: "limit_exceeded" });
  expect(spawner.requests).toHaveLength(2);
  await first[Symbol.asyncDispose]();
  const second = await waiting;
  expect(spawner.requests).toHaveLength(3);
  await second[Symbol.asyncDispose]();
  await pooled[Symbol.asyncDispose]();
});

test("a place is free again when the child did not start", async () => {
  const { gate, spawner } = gateOf({ maxChildren: 1 });
  const { spawn } = spawner;
  spawner.spawn = () => Promise.reject(new CodedError("git_failed", "spawn helper is gone"));
  await expect(gate.start(revList, neverAborted)).rejects.toMatchObject({ code: "git_failed" });
  spawner.spawn = spawn;
  const child = await gate.start(revList, neverAborted);
  await child[Symbol.asyncDispose]();
});
