import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { RunHook } from "../../../src/cli/db/run-hook.ts";
import { runFakeCli, StandingClock } from "../../support/fake-cli.ts";

const server = (name: string) => ({ name, host: name.split(":")[0] as string, port: Number(name.split(":")[1]) });

/** A watch over a primary that the test names; ends when `script` has ended. */
async function watch(argv: readonly string[], outcomes: (number | string)[], script: (scene: Scene) => Promise<void>) {
  const clock = new StandingClock();
  const runs: string[] = [];
  const scene: Scene = {
    clock,
    runs,
    primary: undefined,
    pass: async (ms) => {
      for (let passed = 0; passed < ms; passed += 200) {
        for (let i = 0; i < 5; i++) await turn();
        clock.advance(200);
      }
      for (let i = 0; i < 5; i++) await turn();
    },
  };
  const runHook: RunHook = async (command, env) => {
    runs.push(`${command}: ${env["DBLB_PRIMARY_HOST"]} ${env["DBLB_PRIMARY_PORT"]} after ${env["DBLB_PREVIOUS_PRIMARY"] || "none"}`);
    return outcomes.shift() ?? 0;
  };
  const watchDatabase = async () => ({
    primary: () => (scene.primary === undefined ? undefined : server(scene.primary)),
    [Symbol.asyncDispose]: async () => void runs.push("closed"),
  });
  let stop = () => {};
  const ended = runFakeCli(["db", "watch", ...argv], {
    deps: { clock, runHook, watchDatabase },
    onStart: (deliver) => {
      stop = deliver;
    },
  });
  await script(scene);
  stop();
  await scene.pass(200);
  return { ...(await ended), runs };
}

interface Scene {
  readonly clock: StandingClock;
  readonly runs: string[];
  primary: string | undefined;
  pass(ms: number): Promise<void>;
}

test("db watch runs its command for the first primary and for each other one, but not while there is none", async () => {
  const { code, runs } = await watch(["--on-change", "point"], [], async (scene) => {
    await scene.pass(1000);
    expect(scene.runs).toEqual([]);
    for (const primary of ["a:1", "a:1", undefined, "a:1", "b:2", undefined, "a:1"]) {
      scene.primary = primary;
      await scene.pass(1000);
    }
  });
  expect(runs).toEqual(["point: a 1 after none", "point: b 2 after a:1", "point: a 1 after b:2", "closed"]);
  expect(code).toBe(0);
});

test("db watch tries a command that fails again, later each time, and at once for another primary", async () => {
  const { stderr, runs } = await watch(["--on-change", "point"], [1, "ended by SIGTERM", 1, 0], async (scene) => {
    scene.primary = "a:1";
    await scene.pass(800);
    expect(scene.runs).toHaveLength(1);
    await scene.pass(400);
    expect(scene.runs).toHaveLength(2);
    await scene.pass(1600);
    expect(scene.runs).toHaveLength(2);
    scene.primary = "b:2";
    await scene.pass(200);
    expect(scene.runs).toHaveLength(3);
    scene.primary = "a:1";
    await scene.pass(200);
    await scene.pass(60_000);
  });
  expect(runs).toEqual([...Array(2).fill("point: a 1 after none"), "point: b 2 after none", "point: a 1 after none", "closed"]);
  expect(stderr).toContain("gitaly: for a:1 the command failed: ended by SIGTERM\n");
});

test("db watch --once ends with its first success, after three failures, or after a minute without a primary", async () => {
  const point = ["--once", "--on-change", "point"];
  const good = await watch(point, [1, 0], async (scene) => {
    scene.primary = "a:1";
    await scene.pass(5000);
  });
  expect([good.code, good.runs.length]).toEqual([0, 3]);
  const bad = await watch(point, [1, 1, 1, 0], async (scene) => {
    scene.primary = "a:1";
    await scene.pass(10_000);
  });
  expect([bad.code, bad.runs.length]).toEqual([1, 4]);
  const late = await watch(point, [1, 0], async (scene) => {
    await scene.pass(59_600);
    scene.primary = "a:1";
    await scene.pass(5000);
  });
  expect([late.code, late.runs.length]).toEqual([0, 3]);
  const none = await watch(point, [], (scene) => scene.pass(61_000));
  expect([none.code, none.stderr]).toEqual([1, "gitaly: no primary was found\n"]);
});

test("db watch without a command is a wrong use", async () => {
  expect((await runFakeCli("db watch")).code).toBe(2);
});
