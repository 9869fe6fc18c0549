import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { neverAborted, systemClock } from "../../src/base/index.ts";
import { createRepositoryCache, type RepositoryCache, type RepositoryCacheDeps } from "../../src/cache/index.ts";
import { createMetrics, silentLogger } from "../../src/observability/index.ts";
import type { Artifact, Generation } from "../../src/storage/index.ts";
import { FakeRepositoryStorage, type PackFiles } from "./fake-repository-storage.ts";
import { simRandom } from "./sim-random.ts";

/** A storage in memory and a directory for caches over it, removed when disposed. */
export class CacheFixture implements AsyncDisposable {
  readonly storage = new FakeRepositoryStorage();
  readonly base: string;

  private constructor(base: string) {
    this.base = base;
  }

  static async create(): Promise<CacheFixture> {
    return new CacheFixture(await mkdtemp(join(tmpdir(), "cache-test-")));
  }

  open(
    options: { maxBytes?: number; minFreeBytes?: number; maxRefTableBytes?: number } = {},
    deps: Partial<RepositoryCacheDeps> = {},
  ): Promise<RepositoryCache> {
    return createRepositoryCache(
      { dir: join(this.base, "cache"), minFreeBytes: 0, ...options },
      { storage: this.storage, clock: systemClock, random: simRandom(1), logger: silentLogger, metrics: createMetrics(), ...deps },
    );
  }

  /** Where the cache keeps an artifact. */
  artifactFile(artifact: Artifact): string {
    return join(this.base, "cache/artifacts", (artifact.name.split(".")[3] as string).slice(0, 2), artifact.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.base, { recursive: true, force: true });
  }
}

/** A pack and an index whose ends fit together as git's do. */
export function packFiles(seed: string, sizeBytes = 1000): PackFiles {
  const pack = Buffer.alloc(sizeBytes, seed);
  const checksum = Buffer.alloc(20, `${seed}!`);
  checksum.copy(pack, sizeBytes - 20);
  return {
    pack,
    index: Buffer.concat([Buffer.from(`index ${seed}`), checksum, Buffer.alloc(20, 1)]),
    reverseIndex: Buffer.from(`rev ${seed}`),
  };
}

/** The pack at `position` of a generation. */
export function packOf(generation: Generation, position = 0): Artifact {
  return (generation.packs[position] as Generation["packs"][number]).pack;
}

/** The pack files that a read of the repository sees. */
export async function readPacks(cache: RepositoryCache, path = "a.git"): Promise<string[]> {
  await using lease = await cache.acquire(path, neverAborted);
  const { objectDir } = await lease.snapshot(neverAborted);
  return (await readdir(join(objectDir, "pack"))).sort();
}
