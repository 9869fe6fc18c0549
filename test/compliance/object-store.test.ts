import { systemClock, systemRandom } from "../../src/base/index.ts";
import { noMetrics } from "../../src/observability/index.ts";
import { openObjectStore } from "../../src/storage/index.ts";
import { MemoryObjectStore } from "../support/memory-object-store.ts";
import { startS3Front } from "../support/s3-front.ts";
import { tempDir } from "../support/temp-dir.ts";
import { objectStoreCompliance } from "./object-store.ts";

const deps = { clock: systemClock, random: systemRandom, metrics: noMetrics };

objectStoreCompliance("the memory twin", async () => ({
  store: new MemoryObjectStore(),
  [Symbol.asyncDispose]: async () => {},
}));

objectStoreCompliance("a directory", async () => {
  const dir = await tempDir();
  const store = await openObjectStore(`file://${dir.path}`, deps);
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
});

objectStoreCompliance("a bucket", async () => {
  // B138: the front refuses checksum headers throughout.
  const front = await startS3Front({ store: new MemoryObjectStore(), refuseChecksums: true });
  const store = await openObjectStore(front.url, deps);
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
    },
  };
});
