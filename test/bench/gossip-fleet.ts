import { fileURLToPath } from "node:url";
import { JsonAgent } from "../support/json-agent.ts";
import { GossipCluster } from "./gossip-cluster.ts";

/** How to start a process that speaks the agents' protocol, and what to call its members. */
interface GossipPeer {
  readonly name: string;
  readonly start: () => JsonAgent;
}

export interface GossipBenchDeps {
  readonly peer: GossipPeer;
  /** Gets a line for each step and each surprise. */
  readonly progress: (line: string) => void;
}

export interface FleetOptions {
  /** Members of a cluster. */
  readonly size: number;
  /** Clusters of each kind. */
  readonly clusters: number;
}

const twin = fileURLToPath(new URL("./gossip-agent.main.ts", import.meta.url));

/** A process of ours that speaks the agents' protocol. */
export function startOurAgent(): JsonAgent {
  return new JsonAgent(process.execPath, ["--import", "tsx", twin]);
}

/** The kinds that are compared: ours with its defaults, ours with memberlist's timers alone, and the peer's. */
const kinds = ["ours", "timers", "peer"] as const;
export type Kind = (typeof kinds)[number];
export type Fleet = Readonly<Record<Kind, readonly GossipCluster[]>>;

/** Clusters of each kind at the LAN preset, each in a process of its own, for as long as `work` runs. */
export async function withFleet<T>(
  options: FleetOptions,
  { peer, progress }: GossipBenchDeps,
  work: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const agents: JsonAgent[] = [];
  const start = (from: () => JsonAgent, overrides: object) =>
    Array.from({ length: options.clusters }, () => {
      const agent = from();
      agents.push(agent);
      return new GossipCluster({ overrides, host: `127.0.0.${agents.length}` }, { agent });
    });
  try {
    const fleet = { ours: start(startOurAgent, {}), timers: start(startOurAgent, { crashProof: false }), peer: start(peer.start, {}) };
    await Promise.all(kinds.flatMap((kind) => fleet[kind].map((cluster) => cluster.start(options.size))));
    const result = await work(fleet);
    for (const kind of kinds) {
      const problems = fleet[kind].flatMap(({ falseDeaths, missed }) => [...falseDeaths, ...missed]);
      for (const problem of problems) progress(`  ${kind === "peer" ? peer.name : "ours"}: ${problem}`);
    }
    return result;
  } finally {
    await Promise.all(agents.map((agent) => agent.kill()));
  }
}

/** One crash in every cluster at the same time, `rounds` times: the seconds until all other members of it knew. */
export async function crash(fleet: Fleet, rounds: number): Promise<Record<Kind, number[]>> {
  const found: Record<Kind, number[]> = { ours: [], timers: [], peer: [] };
  for (let round = 0; round < rounds; round++) {
    await Promise.all(kinds.flatMap((kind) => fleet[kind].map(async (cluster) => void found[kind].push((await cluster.crash()) / 1000))));
  }
  return found;
}

/** How often a member said that another one is gone that was there. */
export function falseDeaths(fleet: Fleet, kind: Kind): number {
  return fleet[kind].reduce((sum, cluster) => sum + cluster.falseDeaths.length, 0);
}
