import { join } from "node:path";
import { expect, test } from "vitest";
import { gitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { ScratchCluster } from "../support/scratch-cluster.ts";
import { git, runGit } from "../support/stock-git.ts";

const path = "crash/app.git";

test("with pushes running through two nodes while the owner is killed twice, every acknowledged push is there afterwards", async () => {
  await using cluster = new ScratchCluster();
  for (const name of ["n1", "n2", "n3"]) await cluster.start(name);
  await cluster.settled();
  const [entry] = cluster.nodes as [(typeof cluster.nodes)[0]];
  await gitaly(["repo", "create", path, "--addr", `http://${entry.facts.grpc}`]);
  const source = join(cluster.root, "source");
  makeHistory(source, 60);
  const oids = (await git("-C", source, "rev-list", "main")).trim().split("\n");

  const acknowledged = new Map<string, string>();
  const unclear = new Set<string>();
  let over = false;
  const push = async (worker: number) => {
    for (let i = 0; !over && i < 200; i++) {
      const ref = `refs/heads/w${worker}/${i}`;
      const oid = oids[(worker * 31 + i) % oids.length] as string;
      const alive = cluster.nodes.filter((node) => node.child.exitCode === null && node.child.signalCode === null);
      const node = alive[(worker + i) % alive.length] as (typeof alive)[0];
      const result = await runGit(["-C", source, "push", "--quiet", cluster.url(node, path), `${oid}:${ref}`]);
      if (result.code === 0) acknowledged.set(ref, oid);
      else unclear.add(ref);
    }
  };
  const pushers = [push(0), push(1)];
  for (const count of [5, 10]) {
    // By the pushes themselves, not by a clock: the crash comes once some of them are in.
    while (acknowledged.size < count) await new Promise((resolve) => setImmediate(resolve));
    const alive = cluster.nodes.filter((node) => node.child.exitCode === null && node.child.signalCode === null);
    const owner = (await cluster.owner(path, alive[0] as (typeof alive)[0])) ?? (alive[0] as (typeof alive)[0]);
    if (alive.includes(owner) && alive.length > 1) await owner.stop("SIGKILL");
  }
  const before = acknowledged.size;
  const survivor = cluster.nodes.find(
    (node) => node.child.exitCode === null && node.child.signalCode === null,
  ) as (typeof cluster.nodes)[0];
  while (acknowledged.size < before + 5) await new Promise((resolve) => setImmediate(resolve));
  over = true;
  await Promise.all(pushers);

  const listed = new Map(
    (await git("ls-remote", cluster.url(survivor, path)))
      .trim()
      .split("\n")
      .map((line) => line.split("\t").reverse() as [string, string]),
  );
  for (const [ref, oid] of acknowledged) expect(listed.get(ref), ref).toBe(oid);
  for (const ref of listed.keys()) expect(ref === "HEAD" || acknowledged.has(ref) || unclear.has(ref), ref).toBe(true);
  const clone = join(cluster.root, "clone");
  await git("clone", "--quiet", "--mirror", cluster.url(survivor, path), clone);
  expect((await runGit(["-C", clone, "fsck", "--full", "--strict"])).code).toBe(0);
});
