import { setTimeout as delay } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import type { GossipCluster, Usage } from "./gossip-cluster.ts";
import { crash, type FleetOptions, falseDeaths, type GossipBenchDeps, withFleet } from "./gossip-fleet.ts";

export interface GossipBenchOptions {
  readonly sizes: readonly number[];
  /** Time until full exchanges have their rhythm; it does not count. */
  readonly warmUpMs: number;
  /** Time of rest that is measured; a multiple of the time between two full exchanges. */
  readonly restMs: number;
  /** How many of each at each size, and the time between two, in which the older news stops to spread. */
  readonly updates: number;
  readonly leaves: number;
  readonly pauseMs: number;
  /** Their times differ widely, so there are some in each of several clusters. */
  readonly crashes: { readonly clusters: number; readonly rounds: number };
  /** Clusters that lose a share of their datagrams, 0 to 1, at rest and while members crash. */
  readonly loss: FleetOptions & { readonly share: number; readonly restMs: number; readonly rounds: number };
}

/** Our members beside the peer's at the LAN preset: the traffic of a cluster at rest, and the time until news are known everywhere. */
export async function* benchGossip(options: GossipBenchOptions, deps: GossipBenchDeps): AsyncGenerator<Figure> {
  const deaths = { ours: 0, peer: 0 };
  for (const size of options.sizes) {
    deps.progress(`${size} members: rest, updates, leaves`);
    yield* await withFleet({ size, clusters: 1 }, deps, (fleet) => restAndNews(size, fleet.ours, fleet.peer, options, deps));
    deps.progress(`${size} members: crashes`);
    yield* await withFleet({ size, clusters: options.crashes.clusters }, deps, async (fleet) => {
      const found = await crash(fleet, options.crashes.rounds);
      deaths.ours += falseDeaths(fleet, "ours") + falseDeaths(fleet, "timers");
      deaths.peer += falseDeaths(fleet, "peer");
      return [
        ...compare(`crash known, ${size} members`, "s", found.ours, found.peer, deps.peer.name, "<= 0.5"),
        ...compare("  memberlist's timers alone", "s", found.timers, found.peer, deps.peer.name, "<= 0.95"),
      ];
    });
  }
  yield { name: "false deaths, no loss", unit: "deaths", ...deaths, peerName: deps.peer.name, ratio: undefined, aim: "0" };
  yield* await withLoss(options, deps);
}

/** What one cluster of each kind sends and computes in the same seconds of rest, and then news in one cluster after the other. */
async function restAndNews(
  size: number,
  [ours]: readonly GossipCluster[],
  [peer]: readonly GossipCluster[],
  options: GossipBenchOptions,
  deps: GossipBenchDeps,
): Promise<Figure[]> {
  if (!ours || !peer) throw new Error("a cluster is missing");
  await delay(options.warmUpMs);
  const before = await Promise.all([ours.usage(), peer.usage()]);
  const startedMs = performance.now();
  await delay(options.restMs);
  const after = await Promise.all([ours.usage(), peer.usage()]);
  const memberSeconds = (size * (performance.now() - startedMs)) / 1000;
  const figures = usageFigures.map(([what, unit, read, aim]): Figure => {
    const [rate, peerRate] = [0, 1].map((i) => (read(after[i] as Usage) - read(before[i] as Usage)) / memberSeconds) as [number, number];
    const ratio = peerRate === 0 ? undefined : rate / peerRate;
    return { name: `${what}, ${size} members`, unit, ours: rate, peer: peerRate, peerName: deps.peer.name, ratio, aim };
  });
  for (const [what, times, order] of [
    ["update", options.updates, (cluster: GossipCluster) => cluster.update()],
    ["leave", options.leaves, (cluster: GossipCluster) => cluster.leave()],
  ] as const) {
    const found: [number[], number[]] = [[], []];
    for (let i = 0; i < 2 * times; i++) {
      // Ours first, theirs, theirs, ours, ours …
      const kind = ((i + 1) >> 1) % 2 === 0 ? 0 : 1;
      // Never in step with rounds of gossip.
      await delay(options.pauseMs * (1 + Math.random() / 4));
      found[kind].push(await order(kind === 0 ? ours : peer));
    }
    figures.push(...compare(`${what} known, ${size} members`, "ms", ...found, deps.peer.name, "<= 1.0"));
  }
  return figures;
}

const usageFigures: readonly [what: string, unit: string, read: (usage: Usage) => number, aim: string][] = [
  ["UDP and TCP", "B/s", ({ udpBytes, tcpBytes }) => udpBytes + tcpBytes, "<= 1.0"],
  ["  UDP", "B/s", ({ udpBytes }) => udpBytes, "none"],
  ["  UDP", "packets/s", ({ udpPackets }) => udpPackets, "none"],
  ["  TCP", "B/s", ({ tcpBytes }) => tcpBytes, "none"],
  ["  TCP", "streams/s", ({ tcpDials }) => tcpDials, "none"],
  ["processor", "% of a core", ({ cpuMs }) => cpuMs / 10, "<= 0.1 % of a core"],
];

/** Who is taken for dead, and when a crash is known, while each member loses a share of what it sends. */
async function withLoss(options: GossipBenchOptions, deps: GossipBenchDeps): Promise<Figure[]> {
  const { share, restMs, rounds, ...size } = options.loss;
  const peerName = deps.peer.name;
  const label = `at ${share * 100} % loss, ${size.size} members`;
  deps.progress(label);
  return await withFleet(size, deps, async (fleet) => {
    const all = [...fleet.ours, ...fleet.timers, ...fleet.peer];
    await Promise.all(all.map((cluster) => cluster.lose(share)));
    await delay(restMs);
    const found = await crash(fleet, rounds);
    const counts = { unit: "deaths", peerName, ratio: undefined, aim: "0", peer: falseDeaths(fleet, "peer") };
    return [
      { name: `false deaths ${label}`, ours: falseDeaths(fleet, "ours"), ...counts },
      { name: "  memberlist's timers alone", ours: falseDeaths(fleet, "timers"), ...counts },
      ...compare(`crash known ${label}`, "s", found.ours, found.peer, peerName, "none"),
      ...compare("  memberlist's timers alone", "s", found.timers, found.peer, peerName, "none"),
    ];
  });
}

/** The mean and the slowest. */
function compare(name: string, unit: string, ours: readonly number[], peer: readonly number[], peerName: string, aim: string): Figure[] {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const figure = (label: string, of: (values: readonly number[]) => number, aimed: string): Figure => {
    return { name: label, unit, ours: of(ours), peer: of(peer), peerName, ratio: of(ours) / of(peer), aim: aimed };
  };
  return [figure(name, mean, aim), figure("  the slowest", (values) => Math.max(...values), "none")];
}
