import { bounds } from "./bounds.ts";
import { allFaults, churnFaults, clockFaults, crashFaults, cutFaults, type Fault, pauseFaults, wholeClusterFaults } from "./faults.ts";
import type { World } from "./world.ts";

/** What happens to a cluster between two times of peace. */
export type Phase = (world: World, lengthMs: number) => Promise<void>;

/** Lets faults begin at random moments, the more often the larger the cluster. */
function random(faults: readonly Fault[]): Phase {
  return async (world, lengthMs) => {
    const { cluster } = world;
    const meanMs = 40_000 / (1 + Math.log2(world.slots.length));
    // What strikes everyone strikes a large cluster more rarely, as it would if it were several small ones.
    const rareShare = Math.min(1, 20 / world.slots.length);
    const endMs = cluster.clock.monotonic() + lengthMs;
    while (cluster.clock.monotonic() < endMs) {
      const fault = faults[world.random.int(faults.length)] as Fault;
      if (!wholeClusterFaults.includes(fault) || world.random.float() < rareShare) world.begin(fault);
      await cluster.run(world.random.float() * 2 * meanMs);
    }
  };
}

/** Nothing happens: nobody may even be suspected. */
const calm: Phase = async ({ cluster }, lengthMs) => {
  const before = cluster.suspicions;
  await cluster.run(lengthMs);
  if (cluster.suspicions > before) throw new Error(`${cluster.suspicions - before} suspicions although nothing happened`);
};

/** A quarter of all datagrams is lost, some are doubled, all are reordered: nobody may be declared dead. */
const loss: Phase = async ({ cluster }, lengthMs) => {
  Object.assign(cluster.network.faults, { loss: 0.25, duplication: 0.05, maxDelayMs: 40 });
  const before = cluster.falseDeaths.count;
  await cluster.run(lengthMs);
  if (cluster.falseDeaths.count > before) throw new Error("a live member was declared dead while a quarter of all datagrams was lost");
};

/** Halves that do not see each other for the whole time. */
const partition: Phase = async ({ cluster, slots }, lengthMs) => {
  const hosts = slots.map(({ node }) => node.host);
  cluster.holdAll(1);
  cluster.network.partition(hosts.slice(0, hosts.length / 2), hosts.slice(hosts.length / 2));
  await cluster.run(lengthMs);
  cluster.network.joinGroups();
  cluster.holdAll(-1);
};

/** The scenarios by name. `phaseMs`: how long one phase lasts at most, before a time of peace in which views must converge. */
export const scenarios = {
  calm: { phase: calm, phaseMs: 3_600_000 },
  loss: { phase: loss, phaseMs: 600_000 },
  partition: { phase: partition, phaseMs: 150_000 },
  "long-partition": { phase: partition, phaseMs: 1_000_000 },
  cuts: { phase: random(cutFaults), phaseMs: 300_000 },
  pauses: { phase: random(pauseFaults), phaseMs: 300_000 },
  clocks: { phase: random(clockFaults), phaseMs: 300_000 },
  crashes: { phase: random(crashFaults), phaseMs: 300_000 },
  churn: { phase: random(churnFaults), phaseMs: 600_000 },
  mixed: { phase: random(allFaults), phaseMs: 300_000 },
} satisfies Record<string, { readonly phase: Phase; readonly phaseMs: number }>;

export type Scenario = keyof typeof scenarios;

/** True if `name` is a scenario. */
export function isScenario(name: string): name is Scenario {
  return Object.hasOwn(scenarios, name);
}

/** Shortest virtual time that a scenario takes for one phase and the time of peace after it. */
export function defaultMinutes(scenario: Scenario): number {
  return Math.ceil((Math.min(scenarios[scenario].phaseMs, 300_000) + bounds.steadyMs) / 60_000);
}
