import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";

test("the library example of docs/gossip.md runs and ends by itself", async () => {
  const text = await readFile(join(packageRoot, "docs/gossip.md"), "utf8");
  const example = text.split("```ts\n")[1]?.split("```")[0] ?? "";
  const dir = await mkdtemp(join(tmpdir(), "gossip-docs-"));
  try {
    const file = join(dir, "example.mts");
    await writeFile(file, example.replace('"gitaly-gossip/gossip"', JSON.stringify(join(packageRoot, "src/gossip/index.ts"))));
    const { stdout } = await promisify(execFile)(join(packageRoot, "node_modules/.bin/tsx"), [file], { timeout: 30_000 });
    expect(stdout).toContain("first joined (new, says first)");
    expect(stdout).toContain("1 member answered");
    expect(stdout).toContain("first left (leave, says first)");
  } finally {
    await rm(dir, { recursive: true });
  }
});
