import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { DirectSpawner } from "../../src/git/direct-spawner.ts";
import { HelperSpawner } from "../../src/git/helper-spawner.ts";
import type { SpawnedChild, Spawner } from "../../src/git/spawner.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { buildSpawnHelper } from "../support/git-fixture-helper.ts";
import { eventually, isAlive } from "../support/git-fixture-processes.ts";
import { tempDir } from "../support/temp-dir.ts";

let built: Awaited<ReturnType<typeof buildSpawnHelper>>;
beforeAll(async () => {
  built = await buildSpawnHelper();
});
afterAll(() => built[Symbol.asyncDispose]());

const helperSpawner = (): HelperSpawner => new HelperSpawner({ entryPath: built.entryPath, dir: tmpdir() }, { logger: silentLogger });
const env = { PATH: process.env["PATH"] ?? "" };
const shell = (script: string) => ({ file: "sh", args: ["-c", script], env, cwd: "/" });

async function textOf(child: SpawnedChild): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return text;
}

describe.each<[string, () => Spawner]>([
  ["direct", () => new DirectSpawner()],
  ["helper", helperSpawner],
])("the %s spawner", (_name, create) => {
  test("carries 30 MB both ways and gives end-of-file after a half close", async () => {
    await using spawner = create();
    const child = await spawner.spawn({ file: "cat", args: [], env, cwd: "/" });
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    const writing = (async () => {
      for (let i = 0; i < 30; i++) {
        const chunk = randomBytes(1 << 20);
        sent.update(chunk);
        if (!child.stdin.write(chunk)) await once(child.stdin, "drain");
      }
      child.stdin.end();
    })();
    for await (const chunk of child.stdout) received.update(chunk as Buffer);
    await writing;
    expect(await child.exited).toEqual({ code: 0, signal: undefined, stderr: "", problem: undefined });
    expect(received.digest("hex")).toBe(sent.digest("hex"));
  });

  test("tells how a child ended and the last 10,000 bytes of its stderr", async () => {
    await using spawner = create();
    let liveBytes = 0;
    const script = "i=0; while [ $i -lt 4000 ]; do echo 'line of some thirty characters' >&2; i=$((i+1)); done; echo last >&2; exit 3";
    const child = await spawner.spawn(shell(script), (chunk) => {
      liveBytes += chunk.length;
    });
    const exit = await child.exited;
    expect(exit).toMatchObject({ code: 3, signal: undefined, problem: undefined });
    expect(exit.stderr).toHaveLength(10_000);
    expect(exit.stderr.endsWith("last\n")).toBe(true);
    expect(liveBytes).toBe(65_536);
    child.stdin.destroy();
    child.stdout.destroy();
  });

  test("reports a program that does not exist", async () => {
    await using spawner = create();
    const child = await spawner.spawn({ file: "/nonexistent/program", args: [], env, cwd: "/" });
    expect(await child.exited).toMatchObject({ code: undefined, problem: "ENOENT" });
    child.stdin.destroy();
    child.stdout.destroy();
  });

  test("gives a child nothing of its own environment", async () => {
    await using spawner = create();
    const child = await spawner.spawn({ file: "env", args: [], env: { ...env, ONLY: "this" }, cwd: "/" });
    expect((await textOf(child)).trim().split("\n").sort()).toEqual(["ONLY=this", `PATH=${env.PATH}`]);
  });

  test("ends a child's children first, so that the child can fail by itself", async () => {
    await using spawner = create();
    const child = await spawner.spawn(shell("sleep 1000 & echo $!; wait $!; echo child gave $?; exit 7"));
    child.stdout.once("data", () => child.end("gentle"));
    expect(await textOf(child)).toMatch(/^\d+\nchild gave 143\n$/);
    expect(await child.exited).toMatchObject({ code: 7 });
  });

  test("kills a whole process group", async () => {
    await using spawner = create();
    const child = await spawner.spawn(shell("trap '' TERM; sleep 1000 & echo $!; wait"));
    const pid = Number(((await once(child.stdout, "data")) as [Buffer])[0].toString());
    child.end("kill");
    expect(await child.exited).toMatchObject({ code: undefined, signal: "SIGKILL" });
    expect(await eventually(() => !isAlive(pid), 5000)).toBe(true);
    child.stdin.destroy();
    child.stdout.destroy();
  });

  test("ends what still runs when it is disposed", async () => {
    const spawner = create();
    const child = await spawner.spawn(shell("echo $$; exec sleep 1000"));
    const pid = Number(((await once(child.stdout, "data")) as [Buffer])[0].toString());
    await spawner[Symbol.asyncDispose]();
    await child.exited;
    expect(await eventually(() => !isAlive(pid), 5000)).toBe(true);
    child.stdin.destroy();
    child.stdout.destroy();
  });

  test("starts many children at once without mixing up their streams", async () => {
    await using spawner = create();
    const numbers = Array.from({ length: 40 }, (_, i) => String(i));
    const texts = await Promise.all(numbers.map(async (n) => (await textOf(await spawner.spawn(shell(`echo ${n}`)))).trim()));
    expect(texts).toEqual(numbers);
  });
});

test("a helper that is killed fails its running calls, leaves no child, and is started again", async () => {
  await using spawner = helperSpawner();
  const child = await spawner.spawn(shell('echo "$PPID $$"; exec sleep 1000'));
  const line = ((await once(child.stdout, "data")) as [Buffer])[0].toString();
  const [helperPid = 0, childPid = 0] = line.split(" ").map(Number);
  // What the child wrote comes by another way than the report that it was started; reports keep their order.
  await (await spawner.spawn(shell("exit 0"))).exited;
  process.kill(helperPid, "SIGKILL");
  expect(await child.exited).toMatchObject({ code: undefined, problem: "spawn helper is gone" });
  expect(await eventually(() => !isAlive(childPid), 5000)).toBe(true);
  child.stdin.destroy();
  child.stdout.destroy();
  const next = await spawner.spawn(shell("echo again"));
  expect(await textOf(next)).toBe("again\n");
});

test("when the node is killed, helper and children end and their directory goes", async () => {
  const tsx = join(packageRoot, "node_modules", ".bin", "tsx");
  const main = join(packageRoot, "test", "support", "git-fixture-orphan.main.ts");
  await using sockets = await tempDir();
  const node = spawn(process.execPath, [tsx, main, built.entryPath, sockets.path], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const line = ((await once(node.stdout, "data")) as [Buffer])[0].toString();
  const [helperPid = 0, childPid = 0] = line.split(" ").map(Number);
  expect(isAlive(helperPid) && isAlive(childPid)).toBe(true);
  expect(await readdir(sockets.path)).toHaveLength(1);
  process.kill(-(node.pid ?? 0), "SIGKILL");
  await once(node, "exit");
  expect(await eventually(() => !isAlive(helperPid) && !isAlive(childPid), 10_000)).toBe(true);
  expect(existsSync(`/proc/${childPid}`)).toBe(false);
  expect(await readdir(sockets.path)).toEqual([]);
});
