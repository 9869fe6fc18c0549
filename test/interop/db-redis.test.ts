import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectRedis, createLoadBalancer, type LoadBalancer } from "../../src/db/index.ts";
import { createMetrics, silentLogger } from "../../src/observability/index.ts";
import { peerSuite } from "../support/peer-suite.ts";
import { type PostgresCluster, type PostgresServer, startPostgresCluster } from "../support/postgres-cluster.ts";
import { type RedisServer, redisMissing, startRedis } from "../support/redis-server.ts";
import { until } from "../support/until.ts";

const { missing, required } = peerSuite("db-redis", redisMissing());
if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

describe.skipIf(missing !== undefined)("two processes that share what sessions wrote in Redis", () => {
  let cluster: PostgresCluster;
  let replica: PostgresServer;
  let redis: RedisServer;
  const balancers: LoadBalancer[] = [];
  const closing: AsyncDisposable[] = [];
  const metrics = createMetrics();
  beforeAll(async () => {
    cluster = await startPostgresCluster({ replicas: 1 });
    [replica] = cluster.replicas as [PostgresServer];
    redis = await startRedis();
    await cluster.sql(cluster.primary, "CREATE TABLE t (id int)");
    await cluster.caughtUp();
    for (const deps of [{}, { metrics }]) {
      const store = await connectRedis(redis.url, {}, { logger: silentLogger });
      closing.push(store);
      const options = {
        primary: cluster.primary.url,
        replicas: [replica.url],
        probeTimeoutMs: 1000,
        connectTimeoutMs: 30_000,
        sticking: { store },
      };
      balancers.push(await createLoadBalancer(options, deps));
    }
  });
  afterAll(async () => {
    for (const lb of balancers) await lb.close();
    for (const store of closing) await store[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const writer = () => balancers[0] as LoadBalancer;
  const reader = () => balancers[1] as LoadBalancer;
  const as = <T>(lb: LoadBalancer, user: number, work: () => Promise<T>) => lb.session({ stick: [["user", user]] }, work);
  const insert = (user: number, id: number) => as(writer(), user, () => writer().query("INSERT INTO t VALUES ($1)", [id]));
  const has = async (user: number, id: number) =>
    (await as(reader(), user, () => reader().query("SELECT id FROM t WHERE id = $1", [id]))).rows.length === 1;
  const port = async (user: number) =>
    Number((await as(reader(), user, () => reader().query("SELECT current_setting('port') AS port"))).rows[0]?.["port"]);
  const sticksFailed = async () => Number(/dblb_sticky_picks_total\{result="store_failed"\} (\d+)/.exec(await metrics.expose())?.[1] ?? 0);

  test("each sees at once what the other one wrote, while the replica stands still, too", async () => {
    for (let id = 0; id < 100; id++) {
      await insert(1, id);
      expect(await has(1, id)).toBe(true);
    }
    await cluster.sql(replica, "SELECT pg_wal_replay_pause()");
    try {
      await insert(2, 1000);
      expect(await has(2, 1000)).toBe(true);
      expect(await port(2)).toBe(cluster.primary.port);
      expect(await port(3)).toBe(replica.port);
    } finally {
      await cluster.sql(replica, "SELECT pg_wal_replay_resume()");
      await cluster.caughtUp();
    }
    await until("the replica serves the key again", async () => (await port(2)) === replica.port);
  });

  // Case 17
  test("of an id that is hashed, neither Redis nor its keys show anything but a digest", async () => {
    const token = "glpat-very-secret";
    const asToken = <T>(lb: LoadBalancer, hashId: boolean, work: () => Promise<T>) =>
      lb.session({ stick: [{ namespace: "api_key", id: token, hashId }] }, work);
    await cluster.sql(replica, "SELECT pg_wal_replay_pause()");
    try {
      await asToken(writer(), true, () => writer().query("INSERT INTO t VALUES (500)"));
      const keys = await redis.client.keys("*api_key*");
      expect(keys).toHaveLength(1);
      expect(keys[0]).toMatch(/^database-load-balancing\/write-location\/main\/api_key\/[0-9a-f]{64}$/);
      const kept = await Promise.all((await redis.client.keys("*")).map(async (key) => `${key} ${await redis.client.get(key)}`));
      expect(kept.filter((text) => text.includes(token))).toEqual([]);
      const rows = async (hashId: boolean) =>
        (await asToken(reader(), hashId, () => reader().query("SELECT id FROM t WHERE id = 500"))).rows.length;
      expect([await rows(true), await rows(false)]).toEqual([1, 0]);
    } finally {
      await cluster.sql(replica, "SELECT pg_wal_replay_resume()");
      await cluster.caughtUp();
    }
  });

  // Case 18
  test("while Redis hangs, keys are read on the primary, nothing fails, and what has no key stays on the replica", async () => {
    const before = await sticksFailed();
    redis.freeze(true);
    try {
      await insert(4, 2000);
      expect(await has(4, 2000)).toBe(true);
      expect(await port(4)).toBe(cluster.primary.port);
      // Far more than the primary has connections for, while somebody writes.
      const [ports] = await Promise.all([Promise.all(Array.from({ length: 100 }, (_, i) => port(100 + i))), insert(4, 2001)]);
      expect(new Set(ports)).toEqual(new Set([cluster.primary.port]));
      expect((await reader().query("SELECT current_setting('port')::int AS port")).rows).toEqual([{ port: replica.port }]);
      expect(await sticksFailed()).toBeGreaterThan(before);
    } finally {
      redis.freeze(false);
    }
    await until("keys are looked up again", async () => (await port(5)) === replica.port);
  });

  test("a Redis that is lost and comes back empty costs no error", async () => {
    await redis.stop();
    await insert(6, 3000);
    expect(await has(6, 3000)).toBe(true);
    expect(await port(6)).toBe(cluster.primary.port);
    await redis.start();
    await until("keys are looked up again", async () => (await port(7)) === replica.port);
    await until("keys are noted again", async () => {
      await insert(8, 4000);
      return (await redis.client.keys("*/user/8")).length === 1;
    });
    expect(await has(8, 4000)).toBe(true);
  });
});
