import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemRandom } from "../../../src/base/index.ts";
import { chooseDataDir, defaultDataDir } from "../../../src/server/choose-data-dir.ts";
import { lockDataDir } from "../../../src/server/data-dir-lock.ts";
import { chooseNodeName, keepNodeName } from "../../../src/server/node-name.ts";
import { identify, isRunning } from "../../../src/server/process-identity.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "data-dir-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const lock = (dir: string) => lockDataDir(dir, systemRandom);
const choose = (joins: boolean, given?: string) => chooseDataDir({ given, joins, defaultDir: join(root, "gitaly") }, systemRandom);

test("a directory in use is refused with the holder's name and the command that joins it", () => {
  using held = lock(join(root, "d"));
  held.describe("n1:8075", "127.0.0.1:8075");
  expect(() => lock(join(root, "d"))).toThrowError(
    expect.objectContaining({
      code: "data_dir_in_use",
      fields: { pid: process.pid, node: "n1:8075", joinWith: "gitaly serve --join-addr http://127.0.0.1:8075" },
    }),
  );
});

test("a directory that cannot be made is named, with its errno and the flag that chooses another", () => {
  writeFileSync(join(root, "file"), "");
  expect(() => lock(join(root, "file"))).toThrowError(
    expect.objectContaining({
      code: "failed_precondition",
      message: "the data directory cannot be made or written; --data-dir names another",
      fields: { dir: join(root, "file"), errno: "EEXIST" },
    }),
  );
});

test("a released directory can be locked again and holds no rests", () => {
  lock(root)[Symbol.dispose]();
  using _again = lock(root);
  expect(readdirSync(root)).toEqual(["lock"]);
});

test("the lock of a process that was killed is taken over", async () => {
  const child = spawn("sleep", ["60"]);
  const dead = identify(child.pid as number);
  child.kill("SIGKILL");
  await once(child, "exit");
  writeFileSync(join(root, "lock"), JSON.stringify(dead));
  using held = lock(root);
  expect(JSON.parse(readFileSync(join(held.dir, "lock"), "utf8")).pid).toBe(process.pid);
});

test("a living process that merely has the pid of a dead holder does not hold the lock", () => {
  writeFileSync(join(root, "lock"), JSON.stringify({ pid: process.pid, startTime: "1" }));
  using held = lock(root);
  expect(existsSync(join(held.dir, "lock"))).toBe(true);
  expect(isRunning({ pid: process.pid, startTime: "1" })).toBe(false);
});

test.each(["", "{", '{"pid":-1,"startTime":""}', "null"])("a damaged lock file %j is taken over", (content) => {
  writeFileSync(join(root, "lock"), content);
  using held = lock(root);
  expect(JSON.parse(readFileSync(join(held.dir, "lock"), "utf8")).pid).toBe(process.pid);
});

test("a node that does not join uses the default directory, joiners the first free one beside it", () => {
  using joiner = choose(true);
  expect(joiner.dir).toBe(join(root, "gitaly-2"));
  using founder = choose(false);
  expect(founder.dir).toBe(join(root, "gitaly"));
  const third = choose(true);
  expect(third.dir).toBe(join(root, "gitaly-3"));
  third[Symbol.dispose]();
  using again = choose(true);
  expect(again.dir).toBe(join(root, "gitaly-3"));
  expect(() => choose(false)).toThrowError(expect.objectContaining({ code: "data_dir_in_use" }));
  expect(() => choose(true, joiner.dir)).toThrowError(expect.objectContaining({ code: "data_dir_in_use" }));
});

test("the default directory follows XDG_DATA_HOME", () => {
  expect(defaultDataDir({ XDG_DATA_HOME: "/x" })).toBe("/x/gitaly");
  expect(defaultDataDir({})).toMatch(/\.local\/share\/gitaly$/);
});

test("a node's name is made once and kept", () => {
  const choose = (given: string | undefined, grpcPort: number) => chooseNodeName({ given, dataDir: root, hostname: "host_1!", grpcPort });
  expect(choose(undefined, 8075)).toEqual({ name: "host_1-:8075", made: true });
  expect(choose(undefined, 9999)).toEqual({ name: "host_1-:9999", made: true });
  keepNodeName(root, "host_1-:8075");
  expect(choose(undefined, 9999)).toEqual({ name: "host_1-:8075", made: false });
  expect(choose("other", 9999)).toEqual({ name: "other", made: false });
  keepNodeName(root, "other");
  expect(choose(undefined, 1)).toEqual({ name: "other", made: false });
  expect(() => choose("a b", 1)).toThrowError(expect.objectContaining({ code: "bad_config" }));
});
