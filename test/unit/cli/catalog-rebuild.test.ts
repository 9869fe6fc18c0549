import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import type { CliDeps } from "../../../src/cli/index.ts";
import { runFakeCli, StandingClock } from "../../support/fake-cli.ts";

type Rebuild = CliDeps["rebuildCatalog"];

const counts = { stored: 10, rows: 8, lookedUp: 10, added: 3, noted: 1, corrected: 2, removed: 1, overtaken: 0, damaged: 0 };

test("catalog rebuild hands its flags on and says in numbers what was done", async () => {
  const calls: unknown[] = [];
  const rebuildCatalog: Rebuild = async (_config, { dryRun, takeOver }) => {
    calls.push({ dryRun, takeOver });
    return counts;
  };
  const loaded: unknown[] = [];
  const loadConfig: CliDeps["loadConfig"] = ({ flags }) => {
    loaded.push(flags);
    return { advertiseHost: undefined, ignored: [] };
  };
  const plain = await runFakeCli(
    "catalog rebuild --object-storage s3://b/p --database postgres://a --database postgres://b --data-dir /d",
    {
      deps: { rebuildCatalog, loadConfig },
    },
  );
  expect(loaded).toEqual([{ "object-storage": "s3://b/p", database: ["postgres://a", "postgres://b"], "data-dir": "/d" }]);
  expect(plain).toMatchObject({ code: 0, stderr: "" });
  expect(plain.stdout).toMatch(/^done\n/);
  for (const line of ["names in the store\\s+10", "added\\s+3", "corrected\\s+2", "removed\\s+1", "removals noted\\s+1"]) {
    expect(plain.stdout).toMatch(new RegExp(`^${line}$`, "m"));
  }
  const dry = await runFakeCli("catalog rebuild --dry-run --take-over --json", { deps: { rebuildCatalog } });
  expect(calls).toEqual([
    { dryRun: false, takeOver: false },
    { dryRun: true, takeOver: true },
  ]);
  expect(JSON.parse(dry.stdout)).toEqual({
    ...{ complete: true, dry_run: true, stored: 10, rows: 8, added: 3, corrected: 2, removed: 1, removals_noted: 1 },
    ...{ overtaken: 0, damaged: 0 },
  });
  expect((await runFakeCli("catalog rebuild --dry-run", { deps: { rebuildCatalog } })).stdout).toMatch(/^nothing was written/);
});

test("a repository that cannot be read is named, and the command fails", async () => {
  const rebuildCatalog: Rebuild = async (_config, { onDamaged }) => {
    onDamaged("p.a\u001b");
    return { ...counts, damaged: 1 };
  };
  const { code, stderr } = await runFakeCli("catalog rebuild", { deps: { rebuildCatalog } });
  expect(code).toBe(1);
  expect(stderr).toBe("gitaly: p.a\ufffd: its newest record in the store is damaged; its row stays as it is\n");
});

test("a signal ends it with what was done so far; an error is told as one", async () => {
  let deliver = () => {};
  const stopped: Rebuild = async (_config, { onProgress }, signal) => {
    onProgress({ ...counts, added: 2 });
    deliver();
    signal.throwIfAborted();
    return counts;
  };
  const onStart = (signal: () => void) => {
    deliver = signal;
  };
  const { code, stdout } = await runFakeCli("catalog rebuild --json", { deps: { rebuildCatalog: stopped }, onStart });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ complete: false, added: 2 });
  expect((await runFakeCli("catalog rebuild", { deps: { rebuildCatalog: stopped }, onStart })).stdout).toMatch(/^stopped before its end/);
  const failing: Rebuild = async () => {
    throw new CodedError("store_unavailable", "the object store does not answer");
  };
  const failed = await runFakeCli("catalog rebuild", { deps: { rebuildCatalog: failing } });
  expect(failed).toEqual({ code: 1, stdout: "", stderr: "gitaly: the object store does not answer\n" });
});

test("progress is a bar on a terminal, which is wiped away, and a line now and then elsewhere", async () => {
  const clock = new StandingClock();
  const rebuildCatalog: Rebuild = async (_config, { onProgress }) => {
    for (const [rows, lookedUp] of [
      [0, 0],
      [5, 0],
      [10, 0],
      [10, 10],
    ] as const) {
      clock.advance(3000);
      onProgress({ ...counts, rows, lookedUp });
    }
    return counts;
  };
  const lines = await runFakeCli("catalog rebuild", { deps: { rebuildCatalog, clock } });
  expect(lines.stderr).toBe("gitaly: 5 rows compared, 10 names in the store\ngitaly: 10 of 10 names looked up\n");
  const drawn = await runFakeCli("catalog rebuild", { deps: { rebuildCatalog, clock }, isTerminal: true });
  const bars = drawn.stderr.split("\r");
  expect(bars.map((bar) => /^\[#*/.exec(bar)?.[0].length ?? 0)).toEqual([0, 1, 9, 16, 31, 0, 0]);
  expect(bars.slice(-2)).toEqual([expect.stringMatching(/^ +$/), ""]);
});
