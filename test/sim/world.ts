import { CodedError, type Random, sharedAbortController, shuffle } from "../../src/base/index.ts";
import type { SimCluster } from "./sim-cluster.ts";
import { hostOf } from "./sim-cluster.ts";
import type { SimNode } from "./sim-node.ts";

/** A place in the cluster that one process after the other fills. */
export interface Slot {
  readonly index: number;
  node: SimNode;
  /** Processes that had another name before. */
  generation: number;
  /** A fault is about to end or start its process. */
  busy: boolean;
}

/** How a process comes back. */
export type Return = "same" | "moved" | "renamed";

/** A name that resolves to the first hosts, which always come back at their address. */
export const seedName = "seeds.test";
const seedCount = 3;
/** Beside the first. */
const maxShare = 5;

/** A cluster of a fixed size that faults are let loose on. */
export class World {
  readonly cluster: SimCluster;
  readonly random: Random;
  readonly slots: Slot[];
  #phase = sharedAbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(cluster: SimCluster, random: Random, nodes: readonly SimNode[]) {
    this.cluster = cluster;
    this.random = random;
    this.slots = nodes.map((node, at) => ({ index: at + 1, node, generation: 0, busy: false }));
    cluster.network.names.set(
      seedName,
      this.slots.slice(0, seedCount).map(({ index }) => hostOf(index)),
    );
  }

  /** True while faults may begin. */
  get open(): boolean {
    return !this.#phase.signal.aborted;
  }

  /** Begins a fault, which runs beside everything else and ends by itself, or at {@link endFaults}. */
  begin(fault: (world: World) => Promise<void>): void {
    const running = fault(this).catch((error: unknown) => this.cluster.fail(error));
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  /** Ends every fault and waits until what it had stopped runs again. */
  async endFaults(): Promise<void> {
    this.#phase.abort();
    while (this.#running.size > 0) await this.cluster.run(100);
    this.#phase = sharedAbortController();
  }

  /** Waits for a random time of at most `maxMs`, less if the faults end before. */
  async pause(maxMs: number, minMs = 0): Promise<void> {
    await this.cluster.clock.sleep(minMs + this.random.float() * (maxMs - minMs), this.#phase.signal).catch(() => {});
  }

  /** Some places that run and that no other fault starts or stops; marks them so. */
  take(count: number): Slot[] {
    const free = this.slots.filter(({ node, busy }) => !busy && node.running && !node.left);
    const taken = shuffle(this.random, free).slice(0, count);
    for (const slot of taken) slot.busy = true;
    return taken;
  }

  /** Some running members, whatever else happens to them. */
  pick(count: number): SimNode[] {
    const nodes = this.slots.filter(({ node }) => node.running).map(({ node }) => node);
    return shuffle(this.random, nodes).slice(0, count);
  }

  /** How many places a fault takes at one time: 1, and up to 6 of 100 or more. */
  get share(): number {
    return 1 + this.random.int(1 + Math.min(maxShare, Math.floor(this.slots.length / 20)));
  }

  /** Fills a place again and joins. */
  async fill(slot: Slot, how: Return): Promise<void> {
    const { cluster, random } = this;
    const { node } = slot;
    if (node.running) await cluster.crash(node);
    let name = node.name;
    let index = slot.index;
    const moves = slot.index > seedCount && (how === "moved" || (how === "renamed" && random.int(2) === 0));
    if (moves && node.host === hostOf(slot.index)) index += this.slots.length;
    if (how === "renamed") name = `n${slot.index}.${++slot.generation}`;
    slot.node = await cluster.start(index, { name, meta: Uint8Array.of(random.int(256)) });
    slot.busy = false;
    const [peer] = this.pick(1);
    await this.join(slot.node, ...(peer && peer !== slot.node ? [seedName, peer.host] : [seedName]));
  }

  /** Joins; that nobody answers is no fault, the node goes on trying. */
  async join(node: SimNode, ...targets: string[]): Promise<void> {
    try {
      await this.cluster.joining(node, ...targets);
    } catch (error) {
      if (node.running && !CodedError.is(error, "node_unavailable")) throw error;
    }
  }
}
