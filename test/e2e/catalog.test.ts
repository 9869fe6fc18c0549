import { existsSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { startEmbeddedPostgres } from "../../src/catalog/index.ts";
import { gitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { type ClusterNode, ScratchCluster } from "../support/scratch-cluster.ts";
import { git } from "../support/stock-git.ts";

/** Runs SQL in the embedded database of a data directory. */
async function sql(dataDir: string, text: string): Promise<void> {
  await using embedded = await startEmbeddedPostgres({ dir: dataDir });
  const client = new pg.Client({ connectionString: embedded.url() });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function listed(cluster: ScratchCluster, node: ClusterNode): Promise<string[]> {
  const list = await cluster.json<{ relative_path: string; generation: number; refs: number }[]>(node, "repo", "list");
  return list.map(({ relative_path, generation, refs }) => `${relative_path} ${generation} ${refs}`);
}

async function rebuild(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await gitaly(["catalog", "rebuild", "--json", ...args]);
  if (code !== 0) throw new Error(`gitaly catalog rebuild ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test("rows that were lost from the database of a running cluster are back after gitaly catalog rebuild, and so is a database that was lost whole", async () => {
  await using cluster = new ScratchCluster();
  // What nodes do by themselves is another test's matter.
  const env = { GITALY_CATALOG_RECONCILE_INTERVAL: "0s" };
  const node = await cluster.start("n1", [], env);
  const joiner = await cluster.start("n2", [], env);
  const at = ["--addr", `http://${node.facts.grpc}`];
  for (const path of ["a.git", "b/c.git", "gone.git"]) expect(await gitaly(["repo", "create", path, ...at])).toMatchObject({ code: 0 });
  expect(await gitaly(["repo", "rm", "gone.git", "--yes", ...at])).toMatchObject({ code: 0 });
  const source = join(cluster.root, "source");
  makeHistory(source, 5);
  await git("-C", source, "push", "--quiet", cluster.url(node, "a.git"), "--all");
  const whole = [expect.stringMatching(/^a\.git 2 [1-9]/), "b/c.git 1 0"];
  await expect.poll(() => listed(cluster, node), { timeout: 20_000 }).toEqual(whole);
  const before = await listed(cluster, node);

  await sql(node.dataDir, "DELETE FROM gitaly.repositories WHERE path <> 'b/c.git'; UPDATE gitaly.repositories SET generation = 7");
  expect(await listed(cluster, node)).toEqual(["b/c.git 7 0"]);
  expect(await rebuild("--data-dir", node.dataDir, "--dry-run")).toMatchObject({ dry_run: true, added: 1, corrected: 1 });
  expect(await listed(cluster, node)).toEqual(["b/c.git 7 0"]);
  // A node that was told where the data is knows it as well.
  expect(await rebuild("--data-dir", joiner.dataDir)).toMatchObject({
    complete: true,
    added: 1,
    corrected: 1,
    removals_noted: 1,
    damaged: 0,
  });
  expect(await listed(cluster, node)).toEqual(before);
  expect(await rebuild("--data-dir", node.dataDir)).toMatchObject({ stored: 3, rows: 3, added: 0, corrected: 0, removed: 0 });

  await sql(node.dataDir, "DROP SCHEMA gitaly CASCADE");
  expect(await rebuild("--data-dir", node.dataDir)).toMatchObject({ added: 2, removals_noted: 1 });
  expect(await listed(cluster, node)).toEqual(before);
});

test("gitaly catalog rebuild without a store to be found says so, and makes nothing", async () => {
  await using cluster = new ScratchCluster();
  const dataDir = join(cluster.root, "nobody");
  const { code, stderr } = await gitaly(["catalog", "rebuild", "--data-dir", dataDir]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/no object store .*--data-dir/);
  expect(existsSync(dataDir)).toBe(false);
});
