import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { RepositoryLease } from "../../../src/cache/index.ts";
import { CacheFixture, packFiles } from "../../support/cache-fixture.ts";

type Step = { readonly do: "commit" | "replace" | "lease" | "release"; readonly repository: number; readonly sizeBytes: number };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("commit", "replace", "lease", "lease", "release"),
  repository: fc.nat(3),
  sizeBytes: fc.integer({ min: 100, max: 6000 }),
});
const maxBytes = 8000;

async function bytesBelow(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

test("whatever is leased, released, pushed and evicted: a leased snapshot stays whole, and the rest stays within its bounds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 12 }), async (rounds) => {
      await using fixture = await CacheFixture.create();
      const { storage } = fixture;
      await using cache = await fixture.open({ maxBytes });
      const held: { lease: RepositoryLease; objectDir: string }[] = [];
      const path = (repository: number) => `${repository}.git`;
      for (let repository = 0; repository < 4; repository++)
        storage.commit(path(repository), { packs: [packFiles(`${repository}`, 3000)] });
      let pushes = 0;
      const run = async ({ do: action, repository, sizeBytes }: Step) => {
        const files = packFiles(`push ${pushes++}`, sizeBytes);
        if (action === "commit") storage.commit(path(repository), { packs: [files] });
        else if (action === "replace") storage.commit(path(repository), { keep: [], packs: [files] });
        else if (action === "release") await held.splice(repository % Math.max(1, held.length), 1)[0]?.lease[Symbol.asyncDispose]();
        else {
          const lease = await cache.acquire(path(repository), neverAborted);
          held.push({ lease, objectDir: (await lease.snapshot(neverAborted)).objectDir });
        }
      };
      for (const round of rounds) {
        await Promise.all(round.map(run));
        for (const { lease, objectDir } of held) {
          const names = await readdir(join(objectDir, "pack"));
          expect(names).toHaveLength(3 * lease.generation.packs.length);
          for (const name of names) expect((await readFile(join(objectDir, "pack", name))).length).toBeGreaterThan(0);
        }
        expect(cache.sizeBytes).toBe(await bytesBelow(join(fixture.base, "cache/artifacts")));
      }
      for (const { lease } of held) await lease[Symbol.asyncDispose]();
      expect(cache.sizeBytes).toBeLessThanOrEqual(maxBytes);
      expect((await readdir(join(fixture.base, "cache/objects")).catch(() => [])).length).toBeLessThanOrEqual(4);
    }),
    { numRuns: 40, interruptAfterTimeLimit: 5000 },
  );
});
