import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/base/index.ts";
import { gitaly } from "../support/gitaly-process.ts";
import { makeHistory } from "../support/history.ts";
import { type ClusterNode, ScratchCluster } from "../support/scratch-cluster.ts";
import { runGit } from "../support/stock-git.ts";

const pages = [
  "README.md",
  ...readdirSync(join(packageRoot, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const { scripts } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { scripts: Record<string, string> };

function textOf(page: string): string {
  return readFileSync(join(packageRoot, page), "utf8");
}

/** The commands of a page's shell blocks, one a line, comments cut off and continued lines joined. */
function commandsOf(page: string): string[] {
  const blocks = [...textOf(page).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.replace(/\\\n\s*/g, "").split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = ""]) => quoted ?? bare);
}

/** Runs a command of the page where its reader would: in a checkout, with `first` on the ports that a page takes for granted. */
async function runCommand(command: string, cluster: ScratchCluster, first: ClusterNode): Promise<void> {
  const here = command.replaceAll("127.0.0.1:8075", first.facts.grpc).replaceAll("127.0.0.1:8076", first.facts.http);
  const [program = "", ...args] = wordsOf(here);
  if (program === "npm") return expect(Object.keys(scripts), command).toContain(args[0] === "run" ? args[1] : args[0]);
  if (program === "git") return expect(await runGit(args, { cwd: join(cluster.root, "source") }), command).toMatchObject({ code: 0 });
  expect([program, args.shift()], command).toEqual(["npx", "gitaly"]);
  if (args[0] === "catalog") {
    // It asks no node: the reader's configuration says where the data is, and here the data directory of a node does.
    const found = args.map((arg) => (arg === "--config" ? "--data-dir" : arg === "gitaly.toml" ? first.dataDir : arg));
    return expect(await gitaly(found), command).toMatchObject({ code: 0, stderr: "" });
  }
  if (args[0] !== "serve") {
    return expect(await gitaly([...args, "--addr", `http://${first.facts.grpc}`]), command).toMatchObject({ code: 0, stderr: "" });
  }
  if (args.includes("--join-addr")) return void (await cluster.start(`n${cluster.nodes.length + 1}`, args.slice(1)));
  // What needs machines that are not here is read as the node would read it.
  if (args.length > 1 && !args.includes("--config")) {
    expect(await gitaly(["config", "show", ...args.slice(1)]), command).toMatchObject({ code: 0, stderr: "" });
  }
}

test.each(["README.md", "docs/operations.md"])("the commands of %s do what a reader expects, in their order", async (page) => {
  const commands = commandsOf(page);
  expect(commands.length).toBeGreaterThan(3);
  await using cluster = new ScratchCluster();
  const first = await cluster.start("n1");
  makeHistory(join(cluster.root, "source"), 3);
  for (const command of commands) await runCommand(command, cluster, first);
  if (page === "README.md") {
    const clone = join(cluster.root, "source", "app");
    const [ours, theirs] = await Promise.all([clone, dirname(clone)].map((dir) => runGit(["rev-parse", "main"], { cwd: dir })));
    expect(ours).toEqual(theirs);
  }
  await cluster.settled();
  expect(cluster.nodes.length).toBe(2);
});

test("the configuration that the operations page shows is one that a node accepts", async () => {
  await using cluster = new ScratchCluster();
  const [, toml = ""] = /^```toml\n(.*?)^```$/ms.exec(textOf("docs/operations.md")) ?? [];
  const file = join(cluster.root, "gitaly.toml");
  writeFileSync(file, toml);
  expect(await gitaly(["config", "show", "--config", file, "--advertise-host", "node-1"])).toMatchObject({ code: 0, stderr: "" });
});

test.each(pages)("%s names scripts of this package and files that are there", (page) => {
  const text = textOf(page);
  const named = [...text.matchAll(/\bnpm (?:run ([a-z:]+)|(start|test)\b)/g)].map(([, script, own]) => script ?? own ?? "");
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target = ""]) => target);
  expect(links.filter((target) => !existsSync(join(packageRoot, dirname(page), target)))).toEqual([]);
});
