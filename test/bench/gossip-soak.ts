import { setTimeout as delay } from "node:timers/promises";
import type { JsonAgent } from "../support/json-agent.ts";
import { startOurAgent } from "./gossip-fleet.ts";

export interface SoakOptions {
  readonly nodes: number;
  readonly samples: number;
  /** Time between two samples of memory; life keeps step with them. */
  readonly sampleMs: number;
  /** Gets each line of the report. */
  readonly write: (line: string) => void;
}

interface Node {
  readonly name: string;
  readonly agent: JsonAgent;
  /** 0 before the first start. */
  port: number;
  /** Megabytes of memory. */
  readonly rss: number[];
}

/** When something happens, in samples: other metadata often, and in each part one leave with a return and one crash with a new start. */
const life = { updateEvery: 4, part: 120, leaveAt: 12, crashAt: 36 };
/** Samples in a line of the report, and in each of the two medians whose difference is the growth. */
const windowSamples = 12;
const aimMb = 5;

/**
 * Members with a little life, each in a process of its own. Reports by how much the memory of each process grew from the end of the first
 * part (in short runs: from a fifth of the time) to the end; true if each grew by less than 5 MB and all see each other.
 */
export async function soakGossip(options: SoakOptions): Promise<boolean> {
  const { samples, sampleMs, write } = options;
  const nodes: Node[] = Array.from({ length: options.nodes }, (_, i) => ({ name: `soak-${i}`, agent: startOurAgent(), port: 0, rss: [] }));
  try {
    for (const node of nodes) await start(node, nodes);
    const startedMs = performance.now();
    const minutes = (sample: number) => ((sample * sampleMs) / 60_000).toFixed(1);
    for (let sample = 1; sample <= samples; sample++) {
      await delay(Math.max(0, startedMs + sample * sampleMs - performance.now()));
      await Promise.all(nodes.map(measure));
      await live(nodes, sample);
      if (sample % windowSamples === 0) write(`minute ${minutes(sample)}: ${nodes.map(({ rss }) => rss.at(-1)?.toFixed(1)).join(" ")} MB`);
    }
    const from = Math.min(life.part, Math.floor(samples / 5));
    const growth = nodes.map(({ rss }) => growthMb(rss.slice(from)));
    write(`growth since minute ${minutes(from)}: ${growth.map((mb) => mb.toFixed(2)).join(" ")} MB  (aim < ${aimMb} MB each)`);
    return (await allSeeAll(nodes, write)) && growth.every((mb) => mb < aimMb);
  } finally {
    await Promise.all(nodes.map(({ agent }) => agent.kill()));
  }
}

async function start(node: Node, nodes: readonly Node[]): Promise<void> {
  const { name } = node;
  const { port } = await node.agent.request<{ port: number }>("create", { name, port: node.port });
  node.port = port;
  const addrs = nodes.filter((other) => other !== node && other.port !== 0).map((other) => `127.0.0.1:${other.port}`);
  if (addrs.length > 0) await node.agent.request("join", { name, addrs });
}

async function measure({ agent, rss }: Node): Promise<void> {
  const { rssBytes } = await agent.request<{ rssBytes: number }>("memory");
  rss.push(rssBytes / (1 << 20));
}

async function live(nodes: readonly Node[], sample: number): Promise<void> {
  const turn = Math.floor(sample / life.part);
  const [first, second] = [nodes[turn % nodes.length], nodes[(turn + 1) % nodes.length]] as [Node, Node];
  const { agent, name } = first;
  if (sample % life.part === life.leaveAt) {
    await agent.request("leave", { name, timeoutMs: 10_000 });
    await agent.request("join", { name, addrs: [`127.0.0.1:${second.port}`] });
  }
  // It is away until the next sample; the others find out.
  if (sample % life.part === life.crashAt) await second.agent.request("shutdown", { name: second.name });
  if (sample % life.part === life.crashAt + 1) await start(second, nodes);
  const meta = Buffer.from(`sample=${sample}`).toString("hex");
  if (sample % life.updateEvery === 0) await agent.request("setMeta", { name, meta });
}

function growthMb(samples: readonly number[]): number {
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number;
  const window = Math.min(windowSamples, Math.ceil(samples.length / 2));
  return median(samples.slice(-window)) - median(samples.slice(0, window));
}

async function allSeeAll(nodes: readonly Node[], write: (line: string) => void): Promise<boolean> {
  const views = nodes.map(({ agent, name }) => agent.request<{ state: string }[]>("members", { name }));
  const alive = (await Promise.all(views)).map((view) => view.filter(({ state }) => state === "alive").length);
  write(`alive in each view: ${alive.join(" ")}`);
  return alive.every((count) => count === nodes.length);
}
