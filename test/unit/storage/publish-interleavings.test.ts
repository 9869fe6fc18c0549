import { expect, test } from "vitest";
import { CodedError, neverAborted } from "../../../src/base/index.ts";
import { decodeGeneration } from "../../../src/storage/generation-codec.ts";
import type { Generation, ProbedRepositoryStorage } from "../../../src/storage/index.ts";
import { slotKey } from "../../../src/storage/keys.ts";
import { type MemoryFault, MemoryObjectStore } from "../../support/memory-object-store.ts";
import { oid, provenStorage } from "../../support/scratch-storage.ts";
import { simRandom } from "../../support/sim-random.ts";
import { StepScheduler } from "../../support/step-scheduler.ts";

const seeds = 60;
const ref = (name: string) => `refs/heads/${name}`;

interface Attempt {
  readonly ref: string;
  readonly oldOid: string;
  readonly newOid: string;
  verdict: "ok" | "rejected" | "unknown" | "pending";
}

/** One world: several nodes over one store whose writes may be lost, answered late or land late, and whose nodes may stop for ever. */
class World {
  readonly random;
  readonly scheduler;
  readonly objects = new MemoryObjectStore().objects;
  readonly stores: MemoryObjectStore[] = [];
  readonly attempts: Attempt[] = [];
  readonly readings: string[] = [];
  readonly #crashed = new Set<number>();
  #faultsLeft: number;
  #value = 0;

  constructor(seed: number) {
    this.random = simRandom(seed);
    this.scheduler = new StepScheduler(this.random);
    this.#faultsLeft = this.random.int(10);
  }

  node(id: number): ProbedRepositoryStorage {
    const store = new MemoryObjectStore(
      {
        intercept: async (op) => {
          await this.scheduler.turn();
          if (this.#crashed.has(id)) await new Promise(() => {});
          return this.#fault(op);
        },
      },
      this.objects,
    );
    this.stores.push(store);
    return provenStorage(
      store,
      { writer: `node-${id}`, maxGroupSize: 1 + this.random.int(4), inlineRefTableBytes: 120 },
      {
        clock: this.scheduler.clock,
        random: this.random,
      },
    );
  }

  /** A client that pushes to a ref a few times, each time from what it last saw. */
  async client(storage: ProbedRepositoryStorage, name: string, base: Generation): Promise<void> {
    let generation = base;
    for (let i = 0; i < 3; i++) {
      await this.scheduler.turn();
      const table = await storage.refTable(generation, neverAborted).catch(() => undefined);
      if (!table) return;
      const newOid = (++this.#value).toString(16).padStart(40, "0");
      const attempt: Attempt = { ref: name, oldOid: table.get(ref(name))?.oid ?? oid("0"), newOid, verdict: "pending" };
      this.attempts.push(attempt);
      try {
        const result = await storage.publish(
          {
            path: "a",
            base: generation,
            updates: [{ ref: ref(name), oldOid: attempt.oldOid, newOid }],
            atomic: this.random.int(2) === 0,
            packs: [],
            disconnected: async () => [],
          },
          neverAborted,
        );
        attempt.verdict = result.results[0]?.status ?? "unknown";
        generation = result.generation;
      } catch (error) {
        // Every error of publish means that nothing was written.
        if (!CodedError.is(error)) throw error;
        attempt.verdict = "rejected";
      }
      const newest = await storage.newest("a", neverAborted).catch(() => undefined);
      if (newest) generation = newest;
    }
  }

  crashSomeone(nodes: number): void {
    if (this.random.int(3) === 0) this.#crashed.add(this.random.int(nodes));
  }

  #fault(op: string): MemoryFault | undefined {
    if (this.random.int(12) === 0) for (const store of this.stores) if (this.random.int(2) === 0) store.landLate((n) => this.random.int(n));
    if (this.#faultsLeft === 0 || this.random.int(4) !== 0) return undefined;
    this.#faultsLeft--;
    const faults = op === "create" || op === "put" ? (["lostReply", "dropped", "late"] as const) : (["dropped"] as const);
    return faults[this.random.int(faults.length)];
  }
}

/** The chain as a fresh node reads it, with the refs of every generation; checks what must hold of any chain. */
async function readChain(world: World): Promise<Map<string, string>[]> {
  await using reader = provenStorage(new MemoryObjectStore({}, world.objects));
  const store = new MemoryObjectStore({}, world.objects);
  const newest = await reader.newest("a", neverAborted);
  const slots = (await store.list({ prefix: "repos/" }, neverAborted)).objects.map(({ key }) => key);
  expect(slots).toEqual(Array.from({ length: newest?.n ?? 0 }, (_, i) => slotKey("p.a", (newest?.n ?? 0) - i)));
  const chain: Map<string, string>[] = [];
  let parent: Generation | undefined;
  for (const key of slots.reverse()) {
    const bytes = world.objects.get(key)?.bytes as Uint8Array;
    const generation = decodeGeneration(bytes, { n: chain.length + 1, path: "a" });
    expect(generation.parentDigest).toBe(parent?.digest ?? "");
    for (const table of generation.refTables) expect(world.objects.has(`pools/${generation.poolId}/p/${table.name}`)).toBe(true);
    const refs = await reader.refTable(generation, neverAborted);
    chain.push(new Map([...refs.withPrefix("")].map((entry) => [entry.name, entry.oid])));
    parent = generation;
  }
  return chain;
}

function check(world: World, chain: readonly Map<string, string>[]): void {
  const holders = (attempt: Attempt) => chain.flatMap((refs, i) => (refs.get(ref(attempt.ref)) === attempt.newOid ? [i] : []));
  for (const attempt of world.attempts) {
    const held = holders(attempt);
    if (attempt.verdict === "rejected") expect(held).toEqual([]);
    if (attempt.verdict === "ok") expect(held.length).toBeGreaterThan(0);
    // Applied at once, on exactly the value it expected, and for one stretch of generations.
    const [first] = held;
    if (first === undefined) continue;
    expect(chain[first - 1]?.get(ref(attempt.ref)) ?? oid("0")).toBe(attempt.oldOid);
    expect(held).toEqual(Array.from({ length: held.length }, (_, i) => first + i));
  }
  // Every value in the chain is one that somebody pushed; each change has one author.
  const pushed = new Set(world.attempts.map(({ ref: name, newOid }) => `${ref(name)} ${newOid}`));
  for (const refs of chain) for (const [name, value] of refs) expect(pushed.has(`${name} ${value}`)).toBe(true);
}

async function runWorld(seed: number): Promise<{ attempts: number; generations: number; verdicts: string[] }> {
  const world = new World(seed);
  const nodes = 2 + world.random.int(2);
  const first = provenStorage(new MemoryObjectStore({}, world.objects), {}, { random: world.random });
  const base = await first.create("a", { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const failures: unknown[] = [];
  for (let id = 0; id < nodes; id++) {
    const storage = world.node(id);
    for (const name of ["shared", `own-${id}`]) world.client(storage, name, base).catch((error: unknown) => failures.push(error));
  }
  const crash = world.scheduler.turn().then(() => world.crashSomeone(nodes));
  await world.scheduler.run({ timerChance: world.random.int(3) === 0 ? 0.05 : 0, maxSteps: 20_000 });
  await crash;
  expect(failures).toEqual([]);
  check(world, await readChain(world));
  // What was in flight may land long after everybody has gone.
  for (const store of world.stores) store.landLate((n) => world.random.int(n));
  const chain = await readChain(world);
  check(world, chain);
  // Whatever happened, a fresh node can push.
  const newest = (await first.newest("a", neverAborted)) as Generation;
  const fresh = await first.publish(
    {
      path: "a",
      base: newest,
      updates: [{ ref: ref("fresh"), oldOid: oid("0"), newOid: oid("f") }],
      atomic: false,
      packs: [],
      disconnected: async () => [],
    },
    neverAborted,
  );
  expect(fresh.results).toMatchObject([{ status: "ok" }]);
  return { attempts: world.attempts.length, generations: chain.length, verdicts: world.attempts.map(({ verdict }) => verdict) };
}

test("whatever is lost, late or stopped: acknowledged pushes stay, refused ones never appear, slots are contiguous", async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      for (const verdict of (await runWorld(seed)).verdicts) seen.add(verdict);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  expect([...seen].sort()).toEqual(["ok", "pending", "rejected", "unknown"]);
});
