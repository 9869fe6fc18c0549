import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, neverAborted, type Random, systemClock, systemRandom } from "../../src/base/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import {
  createRepositoryStorage,
  type Generation,
  type LocalPack,
  type ObjectStore,
  type ProbedRepositoryStorage,
  type PublishRequest,
  type PublishResult,
  type RefUpdate,
  type RepositoryStorageOptions,
} from "../../src/storage/index.ts";

/** An object id made of one digit. */
export function oid(digit: string): string {
  return digit.repeat(40);
}

/** "main 0 1": refs/heads/main from 000… to 111…. */
export function refUpdate(text: string): RefUpdate {
  const [ref, before = "", after = ""] = text.split(" ");
  return { ref: `refs/heads/${ref}`, oldOid: oid(before), newOid: oid(after) };
}

/** A node's storage over a store that counts as proven. */
export function provenStorage(
  store: ObjectStore,
  options: Partial<RepositoryStorageOptions> = {},
  deps: { clock?: Clock; random?: Random } = {},
): ProbedRepositoryStorage {
  const storage = createRepositoryStorage(
    { writer: "node-a", ...options },
    { store, clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics, ...deps },
  );
  storage.setHealth({ state: "proven", message: "" });
  return storage;
}

/** Files that stand for a pack and its index. */
export async function localPack(dir: string, name: string): Promise<LocalPack> {
  const pack = { packFile: join(dir, `${name}.pack`), indexFile: join(dir, `${name}.idx`), objectCount: 1 };
  await writeFile(pack.packFile, `pack ${name}`);
  await writeFile(pack.indexFile, `index ${name}`);
  return pack;
}

/** Publishes updates (see `refUpdate`) on a base, connected everywhere unless said otherwise. */
export function push(
  storage: ProbedRepositoryStorage,
  base: Generation,
  updates: readonly string[],
  more: Partial<PublishRequest> & { signal?: AbortSignal } = {},
): Promise<PublishResult> {
  const { signal = neverAborted, ...request } = more;
  return storage.publish(
    { path: base.path, base, updates: updates.map(refUpdate), atomic: false, packs: [], disconnected: async () => [], ...request },
    signal,
  );
}

/** The refs of a generation as "main 1". */
export async function refsOf(storage: ProbedRepositoryStorage, generation: Generation): Promise<string[]> {
  const table = await storage.refTable(generation, neverAborted);
  return [...table.withPrefix("")].map(({ name, oid: value }) => `${name.slice(11)} ${value[0]}`);
}
