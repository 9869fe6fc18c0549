import type { Random } from "../../src/base/index.ts";
import { shuffle } from "../../src/base/index.ts";
import { simRandom } from "../support/sim-random.ts";
import { SimCluster, type SimNode } from "./sim-cluster.ts";

export interface ScenarioResult {
  readonly virtualMs: number;
  /** From the end of all faults until every view was right. */
  readonly convergedMs: number;
  /** Times that a view declared a node dead during the faults, rightly or not. */
  readonly deaths: number;
}

/** Time within which all views must be right once faults stop. */
const convergenceBoundMs = 180_000;

export const scenarios = {
  /** Joins one after the other, nothing else. */
  calm: async () => {},
  /** A quarter of all datagrams is lost, some are doubled, all are reordered. */
  loss: async (cluster: SimCluster) => {
    Object.assign(cluster.network.faults, { loss: 0.25, duplication: 0.05, maxDelayMs: 40 });
    await cluster.run(60_000);
  },
  /** Halves that do not see each other for longer than the dead are remembered. */
  partition: async (cluster: SimCluster, nodes: SimNode[]) => {
    const hosts = nodes.map(({ host }) => host);
    cluster.network.partition(hosts.slice(0, hosts.length / 2), hosts.slice(hosts.length / 2));
    await cluster.run(150_000);
  },
  /** Everything at once, at random: cuts, pauses, crashes, restarts, leaves, loss. */
  chaos: async (cluster: SimCluster, nodes: SimNode[], random: Random) => {
    for (let round = 0; round < 12; round++) await chaosRound(cluster, nodes, random);
  },
} satisfies Record<string, (cluster: SimCluster, nodes: SimNode[], random: Random) => Promise<void>>;

export type Scenario = keyof typeof scenarios;

async function chaosRound(cluster: SimCluster, nodes: SimNode[], random: Random): Promise<void> {
  const { network } = cluster;
  Object.assign(network.faults, { loss: random.float() * 0.3, duplication: random.float() * 0.1, maxDelayMs: 1 + random.float() * 80 });
  const [a, b] = shuffle(random, [...cluster.nodes.values()]);
  if (!a || !b) return;
  switch (random.int(6)) {
    case 0:
      network.cut(a.host, b.host);
      break;
    case 1:
      network.cutOneWay(a.host, b.host, (["packets", "streams", "all"] as const)[random.int(3)]);
      break;
    case 2:
      network.pause(a.host);
      break;
    case 3:
    case 4: {
      const index = Number(a.host.split(".")[3]);
      await cluster.crash(a);
      await cluster.run(random.int(20_000));
      const again = await cluster.start(index, { meta: Uint8Array.of(random.int(256)) });
      nodes.push(again);
      await cluster.join(again, b).catch(() => 0);
      break;
    }
    default:
      a.member.setMeta(Uint8Array.of(random.int(256)));
  }
  await cluster.run(random.int(15_000));
  if (random.int(2) === 0) network.heal();
  for (const { host } of cluster.nodes.values()) network.resume(host);
}

/** Runs one scenario; throws with the seed where a checker or the bound fails. */
export async function runScenario(scenario: Scenario, seed: number, nodeCount: number): Promise<ScenarioResult> {
  const cluster = new SimCluster(seed);
  try {
    const nodes = await cluster.startJoined(nodeCount);
    await cluster.runUntil("all see all after joining", () => cluster.isConverged(), convergenceBoundMs);
    await scenarios[scenario](cluster, nodes, simRandom(seed + 1));
    const deaths = [...cluster.nodes.values()].reduce((sum, { events }) => sum + events.filter(({ type }) => type === "failed").length, 0);
    cluster.network.heal();
    for (const { host } of cluster.nodes.values()) cluster.network.resume(host);
    Object.assign(cluster.network.faults, { loss: 0, duplication: 0, maxDelayMs: 1 });
    const convergedMs = await cluster.runUntil("all see all after the faults", () => cluster.isConverged(), convergenceBoundMs);
    // Right once is not enough: it must stay so.
    for (let i = 0; i < 40; i++) {
      await cluster.run(1000);
      if (!cluster.isConverged()) throw new Error(`views diverged again (seed ${seed})\n${cluster.describe()}`);
    }
    return { virtualMs: cluster.clock.monotonic(), convergedMs, deaths };
  } catch (error) {
    throw new Error(
      `scenario ${scenario} failed; replay it with: npm run sim -- --scenario ${scenario} --seed ${seed} --nodes ${nodeCount}`,
      {
        cause: error,
      },
    );
  } finally {
    await cluster.stop();
  }
}
