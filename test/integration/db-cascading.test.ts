import { beforeAll, expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { allUsable, patientDatabase, patientSticking } from "../support/patient-database.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { statusOf } from "../support/reading-servers.ts";
import { until } from "../support/until.ts";

let cluster: PostgresCluster;
let middle: PostgresServer;
let last: PostgresServer;
let lb: LoadBalancer;

// The last one follows the middle one, which follows the primary.
beforeAll(async () => {
  cluster = await startPostgresCluster({ replicas: 2 });
  [middle, last] = cluster.replicas as [PostgresServer, PostgresServer];
  await cluster.sql(cluster.primary, "CREATE TABLE t (id int, v int)");
  await cluster.caughtUp();
  await last.follow(middle);
  await until(
    "the last one is fed by the middle one",
    async () => (await cluster.sql(middle, "SELECT FROM pg_stat_replication")).length > 0,
  );
  const servers = [cluster.primary, middle, last].map(({ port }) => `127.0.0.1:${port}`).join(",");
  lb = await createLoadBalancer({
    ...patientDatabase,
    primary: `postgres://postgres@${servers}/postgres`,
    replicaCheckIntervalMs: 50,
    sticking: patientSticking,
  });
  await allUsable(lb);
  return async () => {
    await lb.close();
    await cluster[Symbol.asyncDispose]();
  };
}, 60_000);

const status = (server: PostgresServer) => statusOf(lb, server);
const port = async () => Number((await lb.query<{ port: string }>("SELECT current_setting('port') AS port")).rows[0]?.port);
const writes = (user: number, value: number) =>
  lb.session({ stick: [["user", user]] }, () => lb.query("INSERT INTO t VALUES ($1, $2)", [user, value]));
const sees = (user: number) =>
  lb.session({ stick: [["user", user]] }, async () => ({
    value: (await lb.query<{ v: number }>("SELECT max(v) AS v FROM t WHERE id = $1", [user])).rows[0]?.v,
    port: await port(),
  }));
/** Where the user's sessions read; each of them must see the value. */
async function readers(user: number, value: number): Promise<Set<number>> {
  const seen = await Promise.all(Array.from({ length: 20 }, () => sees(user)));
  expect(new Set(seen.map((one) => one.value))).toEqual(new Set([value]));
  return new Set(seen.map((one) => one.port));
}
const pause = (server: PostgresServer) => cluster.sql(server, "SELECT pg_wal_replay_pause()");
const resume = (server: PostgresServer) => cluster.sql(server, "SELECT pg_wal_replay_resume()");
const both = () => new Set([middle.port, last.port]);

test("both are replicas, and sticky reads go to whichever has the write, also where it is the one further from the primary", async () => {
  expect([cluster.primary, middle, last].map((server) => status(server)?.role)).toEqual(["primary", "replica", "replica"]);
  await until("nothing is missing anywhere", () => [middle, last].every((server) => status(server)?.lagBytes === 0));
  for (const [value, behind, other] of [
    [1, middle, last],
    [2, last, middle],
  ] as const) {
    await pause(behind);
    try {
      await writes(1, value);
      await until("the other one serves it", async () => (await readers(1, value)).has(other.port));
      for (let i = 0; i < 5; i++) expect(await readers(1, value)).toEqual(new Set([other.port]));
      expect(status(behind)?.lagBytes).toBeGreaterThan(0);
      expect(status(other)?.lagBytes).toBe(0);
    } finally {
      await resume(behind);
    }
    await until("both serve it", async () => (await readers(1, value)).size === 2);
  }
});

test("what the middle one cannot hand on while it is down, the last one is known to lack", async () => {
  await middle.stop();
  try {
    await writes(2, 1);
    for (let i = 0; i < 5; i++) expect(await readers(2, 1)).toEqual(new Set([cluster.primary.port]));
    await until("its lag is known", () => (status(last)?.lagBytes ?? 0) > 0);
    expect(status(last)).toMatchObject({ role: "replica", usable: true });
  } finally {
    await middle.start();
  }
  await until("both have it", async () => (await readers(2, 1)).size === 2);
  expect(await readers(2, 1)).toEqual(both());
});

test("once the middle one is promoted, the last one follows it, and no sticky read is stale on the way", async () => {
  let value = 0;
  let lastKnown = 0;
  let stop = false;
  const history = (async () => {
    while (!stop) {
      await writes(3, ++value).then(
        () => {
          lastKnown = value;
        },
        () => {},
      );
      const least = lastKnown;
      if (least === 0) continue;
      // While no server accepts writes, a reader who wrote may find none that has them.
      const seen = await sees(3).catch((error: unknown) => {
        if (!CodedError.is(error, "database_unavailable")) throw error;
      });
      if (seen) expect(seen.value).toBeGreaterThanOrEqual(least);
    }
  })();
  history.catch(() => {});
  await until("something was written", () => lastKnown > 3);
  await cluster.primary.shutDown();
  await middle.promote();
  const before = lastKnown;
  await Promise.race([history, until("writes go to it", () => lastKnown > before, 30_000)]);
  await until("the last one has changed over", () => status(last)?.timeline === 2 && status(last)?.lagBytes === 0);
  stop = true;
  await history;
  expect(status(middle)).toMatchObject({ role: "primary", timeline: 2 });
  expect(status(last)).toMatchObject({ role: "replica", usable: true });
  await until("it serves what was written before and since", async () => (await readers(3, lastKnown)).has(last.port));
  await writes(4, 1);
  await until("what is written now is followed", async () => (await readers(4, 1)).has(last.port));
  await pause(last);
  try {
    await writes(4, 2);
    for (let i = 0; i < 5; i++) expect(await readers(4, 2)).toEqual(new Set([middle.port]));
  } finally {
    await resume(last);
  }
}, 60_000);
