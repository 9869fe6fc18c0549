import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { gitaly, startGitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { ScratchCluster } from "../support/scratch-cluster.ts";
import { git, runGit } from "../support/stock-git.ts";

// B38
test("joiners that start before the founder wait for it, and all become one cluster", async () => {
  await using cluster = new ScratchCluster();
  const port = await freePort();
  await using second = startGitaly(join(cluster.root, "n2"), ["--join-addr", `http://127.0.0.1:${port}`]);
  await using third = startGitaly(join(cluster.root, "n3"), ["--join-addr", `http://127.0.0.1:${port}`]);
  while (!second.output.stdout.includes("not ready yet")) await new Promise((resolve) => second.child.stdout?.once("data", resolve));
  await cluster.start("n1", ["--listen-addr", `127.0.0.1:${port}`]);
  await cluster.adopt(second);
  await cluster.adopt(third);
  await cluster.settled();
});

test("a joiner that comes back needs no peer: it was told where the store is", async () => {
  await using cluster = new ScratchCluster();
  const founder = await cluster.start("n1");
  const joiner = await cluster.start("n2");
  await gitaly(["repo", "create", "a.git", "--addr", `http://${founder.facts.grpc}`]);
  await joiner.stop();
  await founder.stop();
  await using back = startGitaly(joiner.dataDir, ["--join-addr", `http://${founder.facts.grpc}`]);
  const facts = await back.ready();
  expect(await git("ls-remote", `http://${facts.http}/a.git`)).toBe("");
});

test("a node told to join another cluster ends with status 1 and both ids", async () => {
  await using one = new ScratchCluster();
  await using other = new ScratchCluster();
  const a = await one.start("a");
  const b = await other.start("b");
  await b.stop();
  const again = startGitaly(b.dataDir, ["--join-addr", `http://${a.facts.grpc}`]);
  expect(await again.stop("SIGCONT")).toBe(1);
  expect(again.output.stderr).toMatch(/belongs to another cluster/);
});

test("a data directory in use is refused with the running node's name", async () => {
  await using cluster = new ScratchCluster();
  const node = await cluster.start("n1");
  const second = startGitaly(node.dataDir);
  expect(await second.stop("SIGCONT")).toBe(1);
  expect(second.output.stderr).toContain(node.facts.node);
});

test("without any database, clone, fetch, push, create and remove go on; a listing says what is missing", async () => {
  await using cluster = new ScratchCluster();
  const node = await cluster.start("n1", [], { GITALY_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
  const at = ["--addr", `http://${node.facts.grpc}`];
  const source = join(cluster.root, "source");
  makeHistory(source, 30);
  expect((await gitaly(["repo", "create", "a.git", ...at])).code).toBe(0);
  await git("-C", source, "push", "--quiet", cluster.url(node, "a.git"), "--all");
  await git("clone", "--quiet", cluster.url(node, "a.git"), join(cluster.root, "clone"));
  const listing = await gitaly(["repo", "list", ...at]);
  expect(listing.code).toBe(1);
  expect(listing.stderr).toMatch(/database|catalog/);
  const info = JSON.parse((await gitaly(["repo", "info", "a.git", "--json", ...at])).stdout) as { generation: number };
  expect(info.generation).toBeGreaterThan(1);
  expect((await gitaly(["repo", "rm", "a.git", "--yes", ...at])).code).toBe(0);
  expect((await runGit(["ls-remote", cluster.url(node, "a.git")])).code).not.toBe(0);
});

test("a node that drains hands over: every clone that starts or runs meanwhile succeeds, and it exits with 0", async () => {
  await using cluster = new ScratchCluster();
  await cluster.start("n1");
  await cluster.start("n2");
  await cluster.start("n3");
  await cluster.settled();
  const [entry] = cluster.nodes as [(typeof cluster.nodes)[0]];
  const source = join(cluster.root, "source");
  makeHistory(source, 200);
  // A repository that another node than the entry owns, so that draining its owner leaves the entry alone.
  let path = "";
  let owner = entry;
  for (let i = 0; owner === entry; i++) {
    path = `drain/${i}.git`;
    owner = (await cluster.owner(path, entry)) ?? entry;
  }
  await gitaly(["repo", "create", path, "--addr", `http://${entry.facts.grpc}`]);
  await git("-C", source, "push", "--quiet", cluster.url(entry, path), "--all");
  const exit = owner.stop("SIGTERM");
  let running = true;
  void exit.then(() => {
    running = false;
  });
  for (let i = 0; running || i < 3; i++) {
    const clone = join(cluster.root, `clone-${i}`);
    const result = await runGit(["clone", "--quiet", "--bare", cluster.url(entry, path), clone]);
    expect(result).toMatchObject({ code: 0 });
    rmSync(clone, { recursive: true });
  }
  expect(await exit).toBe(0);
  const members = await cluster.json<{ name: string; status: string }[]>(entry, "members");
  expect(members).toContainEqual(expect.objectContaining({ name: owner.facts.node, status: "left" }));
});
