import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { type RadosGateway, radosgwMissing, startRadosgw } from "../support/radosgw.ts";
import { ScratchCluster } from "../support/scratch-cluster.ts";
import { git, runGit } from "../support/stock-git.ts";

// The whole path on a real S3 server. storage-radosgw.test.ts fails where the server is required and absent.
describe.skipIf(radosgwMissing() !== undefined)("three nodes on Ceph's S3 server", () => {
  const cluster = new ScratchCluster();
  const path = "demo/app.git";
  const source = join(cluster.root, "source");
  let rados: RadosGateway;
  let storage: string[];
  let env: Record<string, string>;

  beforeAll(async () => {
    rados = await startRadosgw();
    const url = new URL(rados.url);
    url.username = "";
    url.password = "";
    storage = ["--object-storage", url.href];
    env = { AWS_ACCESS_KEY_ID: rados.accessKey, AWS_SECRET_ACCESS_KEY: rados.secretKey };
    makeHistory(source, 300);
    await cluster.start("n1", storage, env);
    // A joiner is told the store's URL without credentials and finds its own.
    await cluster.start("n2", [], env);
    await cluster.start("n3", storage, env);
    await cluster.settled();
  }, 300_000);
  afterAll(async () => {
    await rados?.[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  }, 60_000);

  const first = () => cluster.nodes[0] as (typeof cluster.nodes)[0];

  test("a real history pushed to one node is the same from each of the three", async () => {
    expect((await gitaly(["repo", "create", path, "--addr", `http://${first().facts.grpc}`])).code).toBe(0);
    await git("-C", source, "push", "--quiet", cluster.url(first(), path), "--all");
    await git("-C", source, "push", "--quiet", cluster.url(first(), path), "--tags");
    const expected = (await git("-C", source, "for-each-ref", "--format=%(objectname) %(refname)")).trim().split("\n").sort();
    for (const node of cluster.nodes) {
      const clone = join(cluster.root, `clone-${node.facts.node.replace(/\W/g, "-")}`);
      await git("clone", "--quiet", "--mirror", cluster.url(node, path), clone);
      expect((await git("-C", clone, "for-each-ref", "--format=%(objectname) %(refname)")).trim().split("\n").sort()).toEqual(expected);
      expect((await runGit(["-C", clone, "fsck", "--full", "--strict"])).code).toBe(0);
    }
  });

  test("after kill -9 of the owner, with all caches deleted, new nodes serve everything from the bucket", async () => {
    const owner = (await cluster.owner(path, first())) ?? first();
    await git("-C", source, "push", "--quiet", cluster.url(owner, path), "main:refs/heads/last-words");
    const before = await git("ls-remote", cluster.url(owner, path));
    await owner.stop("SIGKILL");
    for (const node of cluster.nodes) await node.stop("SIGTERM");
    for (const node of cluster.nodes.splice(0)) rmSync(node.dataDir, { recursive: true });
    const fresh = await cluster.start("n4", storage, env);
    expect(await git("ls-remote", cluster.url(fresh, path))).toBe(before);
    await git("clone", "--quiet", "--mirror", cluster.url(fresh, path), join(cluster.root, "again"));
    expect((await runGit(["-C", join(cluster.root, "again"), "fsck", "--full", "--strict"])).code).toBe(0);
  });
});
