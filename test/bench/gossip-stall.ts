import { setTimeout as delay } from "node:timers/promises";
import type { JsonAgent } from "../support/json-agent.ts";
import type { Figure } from "./figures.ts";
import { type GossipBenchDeps, startOurAgent } from "./gossip-fleet.ts";

export interface StallBenchOptions {
  /** Each: how long the process stands still, how often, and the time from one start to the next. */
  readonly stalls: readonly { readonly stallMs: number; readonly periodMs: number; readonly times: number }[];
  /** Time before the first stall. */
  readonly warmUpMs: number;
}

/** Counted by who said so and of whom: three members that say it of one are three. */
interface Found {
  /** Members that never stood still were said to be gone. */
  deaths: number;
  /** The one that stood still accused others. */
  accusations: number;
  /** It was itself said to be gone. */
  ownDeaths: number;
}

/**
 * One member stands still again and again: how many others die of it? Beside it are three members of the peer and two of ours that run.
 * Ours blocks its event loop; the peer's process is stopped by a signal. All lengths run at the same time, each in a cluster of its own.
 */
export async function* benchStalls(options: StallBenchOptions, deps: GossipBenchDeps): AsyncGenerator<Figure> {
  await using oursBeside = startOurAgent();
  await using peerBeside = deps.peer.start();
  deps.progress(`stalls of ${options.stalls.map(({ stallMs }) => `${stallMs} ms`).join(", ")}`);
  const figures = await Promise.all(
    options.stalls.map(async (stall) => {
      const beside = { ours: oursBeside, peer: peerBeside };
      const [ours, peer] = await Promise.all([
        run("ours", stall, options.warmUpMs, beside, startOurAgent, (agent) => agent.request("stall", { timeoutMs: stall.stallMs })),
        run("peer", stall, options.warmUpMs, beside, deps.peer.start, (agent) => pause(agent, stall.stallMs)),
      ]);
      const common = { peerName: deps.peer.name, ratio: undefined };
      const name = `${stall.times} stalls of ${stall.stallMs} ms`;
      return [
        { name: `${name}: deaths of others`, unit: "deaths", ours: ours.deaths, peer: peer.deaths, aim: "0", ...common },
        { name: "  accusations of others", unit: "times", ours: ours.accusations, peer: peer.accusations, aim: "none", ...common },
        { name: "  deaths of the one that stalls", unit: "deaths", ours: ours.ownDeaths, peer: peer.ownDeaths, aim: "none", ...common },
      ];
    }),
  );
  yield* figures.flat();
}

async function pause(agent: JsonAgent, stallMs: number): Promise<void> {
  agent.signal("SIGSTOP");
  try {
    await delay(stallMs);
  } finally {
    agent.signal("SIGCONT");
  }
}

async function run(
  kind: string,
  stall: StallBenchOptions["stalls"][0],
  warmUpMs: number,
  beside: { readonly ours: JsonAgent; readonly peer: JsonAgent },
  start: () => JsonAgent,
  block: (agent: JsonAgent) => Promise<unknown>,
): Promise<Found> {
  await using subject = start();
  const prefix = `${kind}-${stall.stallMs}`;
  const stalled = `${prefix}-stalled`;
  const found: Found = { deaths: 0, accusations: 0, ownDeaths: 0 };
  for (const agent of [subject, beside.ours, beside.peer]) {
    agent.subscribe(({ event, node, member, line }) => {
      // Ours gives an event, the Go agent a line of memberlist's log.
      if (node === stalled && (event === "suspect" || line?.match(/Suspect \S+ has failed/))) found.accusations++;
      if (event !== "leave" || !member?.startsWith(`${prefix}-`) || member === node) return;
      if (member === stalled) found.ownDeaths++;
      else found.deaths++;
    });
  }
  const places: [JsonAgent, string][] = [
    [beside.peer, "a"],
    [beside.peer, "b"],
    [beside.peer, "c"],
    [beside.ours, "d"],
    [beside.ours, "e"],
  ];
  let through: number | undefined;
  for (const [agent, name] of [...places, [subject, "stalled"] as const]) {
    const { port } = await agent.request<{ port: number }>("create", { name: `${prefix}-${name}`, preset: "lan", port: 0 });
    if (through !== undefined) await agent.request("join", { name: `${prefix}-${name}`, addrs: [`127.0.0.1:${through}`] });
    through ??= port;
  }
  await delay(warmUpMs);
  for (let i = 0; i < stall.times; i++) {
    await Promise.all([block(subject), delay(stall.periodMs)]);
  }
  const counted = { ...found };
  for (const [agent, name] of places) await agent.request("shutdown", { name: `${prefix}-${name}` });
  return counted;
}
