import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { Catalog, RepositorySource } from "../../src/catalog/index.ts";
import { reconcile } from "../../src/catalog/reconcile/reconcile.ts";
import { type CatalogScene, openCatalogScene } from "../support/catalog-scene.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";

let cluster: PostgresCluster;
let scene: CatalogScene;
let node: Catalog;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 0 });
  return async () => await cluster[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await scene?.[Symbol.asyncDispose]();
  scene = await openCatalogScene(cluster);
  node = await scene.openCatalog();
});

afterAll(async () => await scene?.[Symbol.asyncDispose]());

const compare = (source: RepositorySource = scene.source, thorough = true, pageSize = 500) =>
  reconcile({ thorough, pageSize }, { ...scene.parts, database: scene.database, source }, neverAborted);

/** The scene's source; `then` happens once, when the store has answered for `path` and the answer is still under way. */
function answering(path: string, then: () => Promise<unknown>): RepositorySource {
  let done = false;
  return {
    ...scene.source,
    newest: async (repository, signal) => {
      const truth = await scene.source.newest(repository, signal);
      if (!done && (typeof repository === "string" ? repository : repository.path) === path) {
        done = true;
        await then();
        await node.flush(neverAborted);
      }
      return truth;
    },
  };
}

const setRow = (path: string, change: string) =>
  cluster.sql(cluster.primary, `UPDATE gitaly.repositories SET ${change} WHERE path = '${path}'`);

test("a push that is noted after the store was asked stays noted", async () => {
  node.record(await scene.create("a.git"));
  await node.flush(neverAborted);
  await setRow("a.git", "size_bytes = 7");
  const counts = await compare(answering("a.git", async () => node.record(await scene.push("a.git"))));
  expect(counts).toMatchObject({ corrected: 0, overtaken: 1 });
  expect(await scene.rowOf("a.git")).toMatchObject({ generation: "2", ref_count: "1" });
});

test("a repository that is removed, or made, after the store was asked stays so", async () => {
  node.record(await scene.create("a.git"));
  await node.flush(neverAborted);
  await setRow("a.git", "size_bytes = 7");
  const remove = async () => {
    const { path, repoId, generation } = await scene.remove("a.git");
    node.recordRemoved(path, repoId, generation);
  };
  expect(await compare(answering("a.git", remove))).toMatchObject({ overtaken: 1 });
  expect(await scene.rowOf("a.git")).toMatchObject({ removed: true, generation: "2" });

  await setRow("a.git", "generation = 1");
  const remake = async () => node.record(await scene.create("a.git"));
  expect(await compare(answering("a.git", remake))).toMatchObject({ overtaken: 1 });
  expect(await scene.rowOf("a.git")).toMatchObject({ removed: false, generation: "3" });
});

test("a repository that is missing and noted while the store is asked is not written twice", async () => {
  const first = await scene.create("a.git");
  const counts = await compare(
    answering("a.git", async () => {
      node.record(first);
      node.record(await scene.push("a.git"));
    }),
  );
  expect(counts).toMatchObject({ added: 0, overtaken: 1 });
  expect(await scene.rowOf("a.git")).toMatchObject({ generation: "2" });
});

test("a push that a wrong row refused to note is found before the row is taken back for good", async () => {
  node.record(await scene.create("a.git"));
  await node.flush(neverAborted);
  await setRow("a.git", "generation = 99");
  const counts = await compare(answering("a.git", async () => node.record(await scene.push("a.git"))));
  expect(counts).toMatchObject({ corrected: 1 });
  expect(await scene.rowOf("a.git")).toMatchObject({ generation: "2" });
});

test("a repository made where a row of a lost store stood in its way is listed", async () => {
  node.record(await scene.create("a.git"));
  node.record({ ...(await scene.push("a.git")), path: "b.git", repoId: "lost", createdAtMs: 9e12 });
  await node.flush(neverAborted);
  expect(await compare(answering("b.git", async () => node.record(await scene.create("b.git"))))).toMatchObject({ removed: 1 });
  expect(await scene.rowOf("b.git")).toMatchObject({ removed: false, generation: "1" });
});

/** What nodes do: a path is made, pushed to, removed; the notes come late, and a share of them never. */
async function storm(notes: readonly Catalog[], lost: number, random: () => number): Promise<void> {
  const late: Promise<void>[] = [];
  const note = (write: (catalog: Catalog) => void) => {
    if (random() < lost) return;
    const catalog = notes[Math.floor(random() * notes.length)] as Catalog;
    late.push(new Promise((resolve) => setTimeout(() => resolve(write(catalog)), random() * 30)));
  };
  for (let i = 0; i < 60; i++) {
    const path = `s/${Math.floor(random() * 8)}.git`;
    const exists = await scene.storage.newest(path, neverAborted);
    try {
      if (!exists) {
        const entry = await scene.create(path);
        note((catalog) => catalog.record(entry));
      } else if (random() < 0.3) {
        const { repoId, generation } = await scene.remove(path);
        note((catalog) => catalog.recordRemoved(path, repoId, generation));
      } else {
        const entry = await scene.push(path);
        note((catalog) => catalog.record(entry));
      }
    } catch {
      // Another writer was faster.
    }
  }
  await Promise.all(late);
}

test.each([0, 0.2])(
  "beside nodes, and beside another run, nothing is lost and nothing comes back; a share of %d of the notes never comes",
  async (lost) => {
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const other = await scene.openCatalog();
    let running = true;
    const runs = [true, false].map(async (thorough) => {
      let count = 0;
      for (; running || count === 0; count++) await compare(scene.source, thorough, 3);
      return count;
    });
    await Promise.all([storm([node, other], lost, random), storm([node, other], lost, random)]);
    await node.flush(neverAborted);
    await other.flush(neverAborted);
    running = false;
    expect(Math.min(...(await Promise.all(runs)))).toBeGreaterThan(1);
    // What never came is found by one more look, in the cheap way too.
    if (lost > 0) await compare(scene.source, false, 3);
    expect(await scene.listed()).toEqual(await scene.stored());
    expect(await compare()).toMatchObject({ added: 0, noted: 0, corrected: 0, removed: 0, overtaken: 0 });
  },
);
