import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type GitalyProcess, gitaly, type ReadyFacts, removeDataDirs, startGitaly } from "./gitaly-process.ts";

export interface ClusterNode extends GitalyProcess {
  readonly facts: ReadyFacts;
}

/** Real nodes on this machine, each with a directory below one root. Disposing it kills them and removes all. */
export class ScratchCluster implements AsyncDisposable {
  readonly root: string = mkdtempSync(join(tmpdir(), "cluster-"));
  readonly nodes: ClusterNode[] = [];

  /** Starts a node; the first founds the cluster, the others join it, unless `args` say otherwise. */
  async start(name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<ClusterNode> {
    const founder = this.nodes[0];
    const join = founder && !args.includes("--join-addr") ? ["--join-addr", `http://${founder.facts.grpc}`] : [];
    return this.adopt(startGitaly(`${this.root}/${name}`, [...join, ...args], env));
  }

  /** Waits for a started process and counts it among the nodes. */
  async adopt(process: GitalyProcess): Promise<ClusterNode> {
    const node = { ...process, facts: await process.ready() };
    this.nodes.push(node);
    return node;
  }

  async json<T>(node: ClusterNode, ...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await gitaly([...args, "--json", "--addr", `http://${node.facts.grpc}`]);
    if (code !== 0) throw new Error(`gitaly ${args.join(" ")} failed with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Waits until each of `nodes` sees as many ready members as there are; membership spreads in the background. */
  async settled(nodes: readonly ClusterNode[] = this.nodes): Promise<void> {
    for (;;) {
      const views = await Promise.all(nodes.map((node) => this.json<{ status: string }[]>(node, "members")));
      if (views.every((members) => members.filter(({ status }) => status === "ready").length === nodes.length)) return;
      await delay(100);
    }
  }

  /** The owner of a repository, in the eyes of `asked`. */
  async owner(path: string, asked: ClusterNode): Promise<ClusterNode | undefined> {
    const { owners } = await this.json<{ owners: { name: string }[] }>(asked, "route", path);
    return this.nodes.find(({ facts }) => facts.node === owners[0]?.name);
  }

  url(node: ClusterNode, path: string): string {
    return `http://${node.facts.http}/${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
    await removeDataDirs(this.root);
  }
}
