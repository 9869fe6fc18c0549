import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { diskStatistics } from "../../../../src/services/server/disk-statistics.ts";

test("DiskStatistics gives the free and used bytes of the cache's disk", async () => {
  const { storageStatuses = [] } = await diskStatistics({ cacheDir: tmpdir(), storageName: "default" })();
  expect(storageStatuses).toHaveLength(1);
  expect(storageStatuses[0]?.storageName).toBe("default");
  expect(Number(storageStatuses[0]?.available)).toBeGreaterThan(0);
  expect(Number(storageStatuses[0]?.used)).toBeGreaterThan(0);
});

test("a cache directory that is gone is our error, and its path stays with us", async () => {
  const answer = diskStatistics({ cacheDir: "/nowhere/at/all", storageName: "default" })();
  await expect(answer).rejects.toMatchObject({ code: "internal", message: expect.not.stringContaining("/nowhere") });
});
