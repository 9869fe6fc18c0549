import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted, systemRandom } from "../../../src/base/index.ts";
import { PinnedDirs } from "../../../src/cache/pinned-dirs.ts";
import { Trash } from "../../../src/cache/trash.ts";
import { silentLogger } from "../../../src/observability/index.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a full disk while a directory is built is a limit with a time to come again, and leaves nothing", async () => {
  await using temp = await tempDir();
  const dir = temp.path;
  const trash = new Trash({ dir: join(dir, "trash") }, { logger: silentLogger });
  const dirs = new PinnedDirs({ dir: join(dir, "snapshots"), maxIdle: 1 }, { trash, random: systemRandom });
  const pinned = dirs.pin("repository", 1, "k".repeat(64));
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  await expect(dirs.ready(pinned, neverAborted, () => Promise.reject(full))).rejects.toMatchObject({
    code: "limit_exceeded",
    retryAfterMs: 10_000,
  });
  dirs.unpin(pinned);
  await trash.settled();
  expect(await readdir(dir)).toEqual(["trash"]);
  expect(await readdir(join(dir, "trash"))).toEqual([]);
});
