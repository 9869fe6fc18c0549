import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gitaly, removeDataDirs, startGitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { startHttpBackend } from "../support/http-backend.ts";
import { git } from "../support/stock-git.ts";
import { type Figure, pairwise, timed } from "./figures.ts";

/**
 * What a user of stock git waits for: clone, a push of one commit and ls-remote, through a cluster of three (asked at a node that is
 * not the owner, so each first request is redirected) and through git's own http-backend on a plain bare repository.
 */
export async function benchGit(options: { commits: number; rounds: number }): Promise<Figure[]> {
  const root = mkdtempSync(join(tmpdir(), "bench-"));
  const source = join(root, "source");
  const path = "bench/app.git";
  makeHistory(source, options.commits);
  mkdirSync(join(root, "stock", "bench"), { recursive: true });
  await git("clone", "--quiet", "--bare", source, join(root, "stock", path));
  try {
    await using stock = await startHttpBackend(join(root, "stock"));
    await using first = startGitaly(join(root, "n1"));
    const founder = await first.ready();
    const joinArgs = ["--join-addr", `http://${founder.grpc}`];
    await using second = startGitaly(join(root, "n2"), joinArgs);
    await using third = startGitaly(join(root, "n3"), joinArgs);
    const facts = [founder, await second.ready(), await third.ready()];
    await run("repo", "create", path, "--addr", `http://${founder.grpc}`);
    const owners = JSON.parse(await run("route", path, "--json", "--addr", `http://${founder.grpc}`)) as { owners: { name: string }[] };
    const entry = facts.find(({ node }) => node !== owners.owners[0]?.name) as (typeof facts)[0];
    const urls = { ours: `http://${entry.http}/${path}`, peer: `${stock.url}/${path}` };
    await git("-C", source, "push", "--quiet", urls.ours, "--all");
    await git("-C", source, "push", "--quiet", urls.ours, "--tags");

    const both = (work: (url: string, label: string, round: number) => Promise<unknown>) =>
      pairwise(
        options.rounds,
        (round) => timed(() => work(urls.ours, "ours", round)),
        (round) => timed(() => work(urls.peer, "peer", round)),
      );
    const peerName = "git http-backend";
    const lsRemote = await both((url) => git("ls-remote", url));
    const clone = await both(async (url, label, round) => git("clone", "--quiet", "--bare", url, join(root, `clone-${label}-${round}`)));
    const push = await both(async (url, label, round) => {
      writeFileSync(join(source, "pushed"), `${label} ${round}`);
      await git("-C", source, "add", "pushed");
      await git("-C", source, "commit", "--quiet", "--message", `${label} ${round}`);
      return git("-C", source, "push", "--quiet", url, "HEAD:refs/heads/main");
    });
    return [
      { name: `clone, ${options.commits} commits`, unit: "ms", ...clone, peerName, aim: "<= 1.3" },
      { name: "push of one commit", unit: "ms", ...push, peerName, aim: "<= 1.5" },
      { name: "ls-remote", unit: "ms", ...lsRemote, peerName, aim: "<= 0.5" },
    ];
  } finally {
    await removeDataDirs(root);
  }
}

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await gitaly(args);
  if (code !== 0) throw new Error(`gitaly ${args.join(" ")} failed with ${code}: ${stderr}`);
  return stdout;
}
