import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { neverAborted, systemClock, systemRandom } from "../../src/base/index.ts";
import { noMetrics } from "../../src/observability/index.ts";
import { openObjectStore } from "../../src/storage/index.ts";
import { slotKey } from "../../src/storage/keys.ts";
import { tempDir } from "../support/temp-dir.ts";

const program = fileURLToPath(new URL("../support/slot-writer.main.ts", import.meta.url));

/** Starts a writer; resolves once it has filled its first slot. */
async function startWriter(dir: string, acked: Map<number, number>): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", program, dir], { stdio: ["ignore", "pipe", "inherit"] });
  let rest = "";
  const first = new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        // No slot is ever acknowledged twice.
        expect(acked.has(Number(line))).toBe(false);
        acked.set(Number(line), child.pid ?? 0);
      }
      if (lines.length > 0) resolve();
    }),
  );
  await Promise.race([first, once(child, "exit")]);
  return child;
}

test("processes that race and are killed leave contiguous, whole slots, each acknowledged to its writer only", async () => {
  await using dir = await tempDir();
  const acked = new Map<number, number>();
  for (let round = 0; round < 2; round++) {
    const writers = await Promise.all([startWriter(dir.path, acked), startWriter(dir.path, acked), startWriter(dir.path, acked)]);
    const target = acked.size + 60;
    while (acked.size < target) await once(writers[0]?.stdout as NodeJS.ReadableStream, "data");
    for (const writer of writers) {
      const exited = once(writer, "close");
      writer.kill("SIGKILL");
      await exited;
    }
  }
  await using store = await openObjectStore(`file://${dir.path}`, { clock: systemClock, random: systemRandom, metrics: noMetrics });
  const keys: string[] = [];
  for (let startAfter: string | undefined = ""; startAfter !== undefined; ) {
    const page = await store.list({ prefix: "repos/", startAfter }, neverAborted);
    keys.push(...page.objects.map(({ key }) => key));
    startAfter = page.next;
  }
  expect(keys).toEqual(Array.from({ length: keys.length }, (_, i) => slotKey("p.a", keys.length - i)));
  for (let n = 1; n <= keys.length; n++) {
    const body = Buffer.from((await store.get(slotKey("p.a", n), 10_000, neverAborted)) ?? []).toString();
    expect(body).toMatch(new RegExp(`^${acked.get(n) ?? "\\d+"} ${n} x{5000}$`));
  }
  expect(keys.length).toBeGreaterThanOrEqual(acked.size);
  expect(Math.max(...acked.keys())).toBeLessThanOrEqual(keys.length);
});
