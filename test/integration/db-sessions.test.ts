import { beforeAll, expect, test } from "vitest";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, startPostgresCluster } from "../support/postgres-cluster.ts";
import { simRandom } from "../support/sim-random.ts";

let cluster: PostgresCluster;

beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 1 });
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
  await cluster.caughtUp();
  return async () => await cluster[Symbol.asyncDispose]();
});

/** What is true of the code that runs now: where its reads must go, and whether its writes stick. */
interface Scope {
  readonly reads: "default" | "primary" | "replicas";
  readonly ignores: boolean;
  readonly session: { stuck: boolean };
}

/** A program of some steps, by seed, that says at each read where it went and where it must. */
class Program {
  readonly wrong: string[] = [];
  readonly #lb: LoadBalancer;
  readonly #random: ReturnType<typeof simRandom>;
  readonly #seed: number;

  constructor(lb: LoadBalancer, seed: number) {
    this.#lb = lb;
    this.#seed = seed;
    this.#random = simRandom(seed);
  }

  async run(scope: Scope, depth: number): Promise<void> {
    for (let step = 0; step < 2; step++) {
      const kind = this.#random.int(depth > 0 ? 7 : 2);
      if (kind === 0) await this.#write(scope);
      else if (kind === 1 || kind === 2) await this.#read(scope, depth);
      else await this.#block(kind, scope, depth - 1);
    }
    await this.#read(scope, depth);
  }

  #block(kind: number, scope: Scope, depth: number): Promise<void> {
    const lb = this.#lb;
    if (kind === 3) return lb.usePrimary(() => this.run({ ...scope, reads: "primary" }, depth));
    if (kind === 4) return lb.useReplicasForReadQueries(() => this.run({ ...scope, reads: "replicas" }, depth));
    if (kind === 5) return lb.ignoreWrites(() => this.run({ ...scope, ignores: true }, depth));
    return lb.session(() => this.run({ reads: "default", ignores: false, session: { stuck: false } }, depth));
  }

  async #write({ ignores, session }: Scope): Promise<void> {
    await this.#lb.query("INSERT INTO t VALUES ($1)", [this.#seed]);
    if (!ignores) session.stuck = true;
  }

  async #read({ reads, session }: Scope, depth: number): Promise<void> {
    const must = reads === "replicas" || (reads === "default" && !session.stuck);
    const { rows } = await this.#lb.query("SELECT pg_is_in_recovery() AS r");
    if (rows[0]?.["r"] !== must)
      this.wrong.push(`seed ${this.#seed}, depth ${depth}: ${JSON.stringify({ reads, ...session })} went elsewhere`);
  }
}

// Case 25
test("a thousand sessions that run at the same time, with blocks and sessions inside, know nothing of each other", async () => {
  await using lb = await createLoadBalancer({
    ...patientDatabase,
    primary: cluster.primary.url,
    replicas: cluster.replicas.map(({ url }) => url),
    maxQueuedPerServer: 10_000,
    overload: { maxQueuedReads: 10_000 },
    sticking: patientSticking,
  });
  await allUsable(lb);
  const programs = Array.from({ length: 1000 }, (_, seed) => new Program(lb, seed));
  await Promise.all(
    programs.map((program) => lb.session(() => program.run({ reads: "default", ignores: false, session: { stuck: false } }, 2))),
  );
  expect(programs.flatMap(({ wrong }) => wrong)).toEqual([]);
}, 120_000);
