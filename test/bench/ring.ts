import { createRequire } from "node:module";
import { Ring } from "../../src/ring/index.ts";
import { type Figure, pairwise, timed } from "./figures.ts";

interface Hasher {
  findSite(key: string): unknown;
}

// The peer is CommonJS without types.
const SkeletonRendezvous = createRequire(import.meta.url)("skeleton-rendezvous") as new (options: { sites: string[] }) => Hasher;

/** Routing of one key at 10, 100 and 1000 nodes, beside npm skeleton-rendezvous. `routes`: keys per sample. */
export async function benchRing(options: { routes: number; rounds: number }): Promise<Figure[]> {
  const keys = Array.from({ length: 1000 }, (_, i) => `default\0group-${i}/subgroup-${i % 7}/repository-with-a-long-name-${i}.git`);
  const figures: Figure[] = [];
  for (const [count, aim] of [
    [10, "<= 0.25 us"],
    [100, "<= 0.65 us, >= 30 x faster"],
    [1000, "<= 4 us, >= 5 x faster"],
  ] as const) {
    const names = Array.from({ length: count }, (_, i) => `gitaly-${i}:8075`);
    const ring = new Ring(names.map((name, i) => ({ name, weight: [1, 2, 4][i % 3] as number })));
    const peer = new SkeletonRendezvous({ sites: names });
    const sample = (route: (key: string) => unknown, routes: number) => async () =>
      ((await timed(() => {
        for (let i = 0; i < routes; i++) route(keys[i % keys.length] as string);
      })) *
        1000) /
      routes;
    const result = await pairwise(
      options.rounds,
      sample((key) => ring.owners(key), options.routes),
      sample((key) => peer.findSite(key), Math.max(1, options.routes >> 4)),
    );
    figures.push({ name: `route one key, ${count} nodes`, unit: "us", ...result, peerName: "skeleton-rendezvous", aim });
  }
  return figures;
}
