import { soundNetwork } from "../support/sim-network.ts";
import { simRandom } from "../support/sim-random.ts";
import { bounds } from "./bounds.ts";
import { maxSpikeMs } from "./faults.ts";
import { formCluster } from "./form-cluster.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { SimCluster } from "./sim-cluster.ts";
import { World } from "./world.ts";

export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly nodes: number;
  /** Virtual length; the last phase ends in it, the time of peace after it may pass it. */
  readonly minutes: number;
}

/** Real time that something took: by the clock, and of this process. */
interface Spent {
  readonly wallMs: number;
  readonly cpuMs: number;
}

export interface ScenarioResult {
  /** Equal for two runs of one seed: everything that happened went into it. */
  readonly digest: string;
  readonly virtualMs: number;
  /** From the end of all faults until every view was right: the longest of all phases. */
  readonly convergedMs: number;
  readonly phases: number;
  /** Times that a view declared a running member dead, rightly or not. */
  readonly deaths: number;
  /** Of those: members that no fault had held for long. */
  readonly unprovokedDeaths: number;
  /** Until the cluster was formed, and after that. */
  readonly forming: Spent;
  readonly running: Spent;
}

export interface RunHooks {
  /** Called after each time of peace, with the virtual time. */
  readonly onPhaseEnd?: (virtualMs: number) => void;
}

/** From this size on a cluster is formed quickly instead of by joining, which is tried enough in small ones. */
const quickFormingNodes = 100;

/** The command that runs it again. */
export function commandOf({ scenario, seed, nodes, minutes }: ScenarioRun): string {
  return `npm run sim -- --scenario ${scenario} --seed ${seed} --nodes ${nodes} --minutes ${minutes}`;
}

/** Runs one scenario; throws with the seed and the command where a checker or a bound fails. */
export async function runScenario(run: ScenarioRun, hooks: RunHooks = {}): Promise<ScenarioResult> {
  const cluster = new SimCluster(run.seed, { records: false });
  try {
    return await runIn(cluster, run, hooks);
  } catch (error) {
    throw new Error(`scenario ${run.scenario} failed; replay it with: ${commandOf(run)}`, { cause: error });
  } finally {
    await cluster.stop();
  }
}

async function runIn(cluster: SimCluster, run: ScenarioRun, hooks: RunHooks): Promise<ScenarioResult> {
  const forming = stopwatch();
  const nodes = run.nodes < quickFormingNodes ? await cluster.startJoined(run.nodes) : await formCluster(cluster, run.nodes);
  await converge(cluster);
  // The first full exchanges, which all make within a minute, belong to the forming of a cluster at rest.
  if (run.scenario === "calm") await cluster.run(60_000);
  const formed = forming();
  const running = stopwatch();
  const world = new World(cluster, simRandom(run.seed + 0x5eed), nodes);
  const endMs = cluster.clock.monotonic() + run.minutes * 60_000;
  const { phase, phaseMs } = scenarios[run.scenario];
  let convergedMs = 0;
  let phases = 0;
  for (let leftMs = endMs - cluster.clock.monotonic(); leftMs > 0; leftMs = endMs - cluster.clock.monotonic()) {
    await phase(world, Math.min(leftMs, phaseMs * (0.5 + world.random.float() / 2)));
    phases++;
    await world.endFaults();
    Object.assign(cluster.network.faults, soundNetwork);
    // What was sent in bad weather is still on its way.
    await cluster.run(maxSpikeMs);
    if (run.scenario === "calm") continue;
    convergedMs = Math.max(convergedMs, await converge(cluster));
    // A probe that began before the end of the faults may still fail, and is refuted.
    await cluster.run(bounds.longestProbeMs);
    await converge(cluster);
    await stayConverged(cluster);
    hooks.onPhaseEnd?.(cluster.clock.monotonic());
  }
  return {
    digest: cluster.trace.digest,
    virtualMs: Math.round(cluster.clock.monotonic()),
    convergedMs: Math.round(convergedMs),
    phases,
    deaths: cluster.falseDeaths.count,
    unprovokedDeaths: cluster.falseDeaths.unprovoked,
    forming: formed,
    running: running(),
  };
}

function stopwatch(): () => Spent {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { wallMs: Math.round(performance.now() - startedMs), cpuMs: Math.round((user + system) / 1000) };
  };
}

function converge(cluster: SimCluster): Promise<number> {
  return cluster.runUntil("every view is right", () => cluster.isConverged(), bounds.convergenceMs(cluster.nodes.size), 500);
}

/** Right once is not enough. */
async function stayConverged(cluster: SimCluster): Promise<void> {
  for (let passedMs = 0; passedMs < bounds.steadyMs; passedMs += 1000) {
    await cluster.run(1000);
    if (!cluster.isConverged()) throw new Error(`views diverged again\n${cluster.describe()}`);
  }
}
