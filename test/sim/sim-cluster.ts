import { neverAborted } from "../../src/base/index.ts";
import { type ClusterGuard, createMember, type Member, type MemberEvent, type MemberOptions } from "../../src/gossip/index.ts";
import { type Gauge, type LogFields, type Logger, type Metrics, noMetrics } from "../../src/observability/index.ts";
import { SimClock } from "../support/sim-clock.ts";
import { SimNetwork } from "../support/sim-network.ts";
import { simRandom } from "../support/sim-random.ts";
import { ViewChecker } from "./view-checker.ts";

export const gossipPort = 7946;

/** One process of the simulation. */
export interface SimNode {
  readonly name: string;
  readonly host: string;
  readonly member: Member;
  readonly events: MemberEvent[];
  readonly warnings: { readonly message: string; readonly fields: LogFields | undefined }[];
  /** Sums of counters by `name{label values}`. */
  readonly counters: Map<string, number>;
  readonly readGauge: (name: string) => number;
}

export interface StartOptions extends Partial<MemberOptions> {
  readonly guard?: ClusterGuard;
}

/** A cluster of real members on virtual time and a simulated network; its checkers run after every step. */
export class SimCluster {
  readonly clock = new SimClock();
  readonly network: SimNetwork;
  /** Running processes by host. */
  readonly nodes = new Map<string, SimNode>();
  readonly seed: number;
  readonly #checker = new ViewChecker();
  #starts = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.network = new SimNetwork(this.clock, simRandom(seed));
  }

  /** Starts a process on `10.0.0.<index>`, named `n<index>` unless `options` say otherwise. */
  async start(index: number, options: StartOptions = {}): Promise<SimNode> {
    const host = `10.0.0.${index}`;
    const { guard, ...rest } = options;
    const recorder = createRecorder();
    const member = await createMember(
      { name: `n${index}`, bindHost: host, bindPort: gossipPort, ...rest },
      {
        clock: this.network.clockOf(host),
        random: simRandom(this.seed * 1000 + this.#starts++),
        logger: recorder.logger,
        metrics: recorder.metrics,
        transport: this.network.factory(host),
        guard,
      },
    );
    const { warnings, counters, readGauge } = recorder;
    const node: SimNode = { name: member.name, host, member, events: [], warnings, counters, readGauge };
    member.subscribe((event) => node.events.push(event));
    this.nodes.set(host, node);
    this.#checker.started(node);
    return node;
  }

  /** Starts `count` processes and joins all to the first. */
  async startJoined(count: number, options: StartOptions = {}): Promise<SimNode[]> {
    const nodes: SimNode[] = [];
    for (let index = 1; index <= count; index++) {
      const node = await this.start(index, options);
      nodes.push(node);
      if (index > 1) await this.join(node, nodes[0] as SimNode);
    }
    return nodes;
  }

  async join(node: SimNode, target: SimNode | string): Promise<number> {
    const host = typeof target === "string" ? target : target.host;
    return this.clock.until(node.member.join([{ host, port: gossipPort }], neverAborted));
  }

  /** Kills the process; it says nothing. */
  async crash(node: SimNode): Promise<void> {
    this.nodes.delete(node.host);
    this.network.forget(node.host);
    await this.clock.until(node.member.destroy());
  }

  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.#checker.check([...this.nodes.values()]));
  }

  /** Runs until `condition` holds; throws, naming the seed, if it does not within `boundMs`. */
  async runUntil(what: string, condition: () => boolean, boundMs: number): Promise<number> {
    const startMs = this.clock.monotonic();
    while (!condition()) {
      if (this.clock.monotonic() - startMs > boundMs) {
        throw new Error(`not within ${boundMs} ms: ${what} (seed ${this.seed})\n${this.describe()}`);
      }
      await this.run(50);
    }
    return this.clock.monotonic() - startMs;
  }

  /** True where every running node sees exactly the running nodes as alive, with their own metadata and address. */
  isConverged(nodes: readonly SimNode[] = [...this.nodes.values()]): boolean {
    const expected = nodes.map(identityOf).sort().join();
    return nodes.every(({ member }) => {
      const alive = member.members().filter(({ state }) => state === "alive");
      return (
        alive
          .map((record) => `${record.name}@${record.host}#${Buffer.from(record.meta).toString("hex")}`)
          .sort()
          .join() === expected
      );
    });
  }

  async stop(): Promise<void> {
    this.network.heal();
    for (const node of [...this.nodes.values()]) {
      this.network.resume(node.host);
      await this.crash(node);
    }
  }

  /** Each node's view in one line. */
  describe(): string {
    return [...this.nodes.values()]
      .map(({ name, host, member }) => {
        const view = member.members().map((record) => `${record.name}@${record.host}:${record.state}/${record.incarnation}`);
        return `${name}@${host} sees ${view.join(" ")}`;
      })
      .join("\n");
  }
}

function identityOf({ name, host, member }: SimNode): string {
  const own = member.members().find((record) => record.name === name);
  return `${name}@${host}#${Buffer.from(own?.meta ?? []).toString("hex")}`;
}

function createRecorder() {
  const warnings: SimNode["warnings"] = [];
  const counters = new Map<string, number>();
  const collectors = new Map<string, (gauge: Gauge) => void>();
  const note = (message: string, fields?: LogFields) => void warnings.push({ message, fields });
  const logger: Logger = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => logger };
  const metrics: Metrics = {
    ...noMetrics,
    counter: (name) => ({
      add: (amount = 1, labels = {}) => {
        const key = `${name}{${Object.values(labels).join()}}`;
        counters.set(key, (counters.get(key) ?? 0) + amount);
      },
    }),
    gauge: (name, help, labels, collect) => {
      if (collect) collectors.set(name, collect);
      return noMetrics.gauge(name, help, labels);
    },
  };
  const readGauge = (name: string) => {
    let last = 0;
    const set = (value: number) => {
      last = value;
    };
    collectors.get(name)?.({ set, add: () => {} });
    return last;
  };
  return { warnings, counters, logger, metrics, readGauge };
}
