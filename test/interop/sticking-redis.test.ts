import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { type Position, parseLsn } from "../../src/db/position/position.ts";
import { connectRedis } from "../../src/db/sticking/connect-redis.ts";
import { RedisStickingStore } from "../../src/db/sticking/redis-sticking-store.ts";
import { silentLogger } from "../../src/observability/index.ts";
import { redisMissing } from "../support/redis-server.ts";
import { openRedisStickingStore } from "../support/redis-sticking-store.ts";

const missing = redisMissing();
const required = process.env["CI"] !== undefined && process.env["GITALY_TEST_PEERS"] === "1";
if (missing !== undefined) process.stdout.write(`sticking-redis: ${required ? "failed" : "skipped"}: ${missing}\n`);

if (missing !== undefined && required) {
  test("the peer of this suite is installed", () => {
    expect(missing).toBeUndefined();
  });
}

const at = (lsn: number): Position => ({ systemId: "7412345678901234567", timeline: 1, lsn: parseLsn(`0/${lsn.toString(16)}`) });

describe.skipIf(missing !== undefined)("positions in a Redis server", () => {
  let opened: Awaited<ReturnType<typeof openRedisStickingStore>>;
  const clients: Redis[] = [];
  const storeOf = (prefix: string) => {
    const redis = new Redis(opened.server.port, "127.0.0.1", { retryStrategy: () => 20 });
    redis.on("error", () => {});
    clients.push(redis);
    return new RedisStickingStore({ prefix }, { redis });
  };
  beforeAll(async () => {
    opened = await openRedisStickingStore();
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await opened?.[Symbol.asyncDispose]();
  });

  // Cases 15, 16
  test("never go back, whatever the order in which eight processes write and release them (B118)", async () => {
    const stores = Array.from({ length: 8 }, () => storeOf("race/"));
    let greatest = 0;
    for (let round = 0; round < 50; round++) {
      const base = (round + 1) * 20;
      const lsns = stores.map((_, i) => base + ((i * 5 + round) % 8));
      greatest = Math.max(...lsns);
      const [first] = stores as [RedisStickingStore];
      await Promise.all([
        ...stores.map((store, i) => store.write(["user/1"], at(lsns[i] as number), neverAborted)),
        // Somebody who saw the round before: what was written since must stay.
        first.release("user/1", at(base - 20 + 7), neverAborted),
      ]);
      expect((await first.read(["user/1"], neverAborted))[0]).toEqual(at(greatest));
    }
  });

  test("expire on the server, and are stored as text under the prefix", async () => {
    const { client } = opened.server;
    await storeOf("text/").write(["main/user/1"], at(0xb), neverAborted);
    expect(await client.get("text/main/user/1")).toBe("7412345678901234567:1:0/B");
    expect(await client.pttl("text/main/user/1")).toBeGreaterThan(25_000);
  });

  test("a value of somebody else's sticks to the primary, and gives way to a write", async () => {
    const store = storeOf("foreign/");
    await opened.server.client.set("foreign/user/1", "0/16B3DC0");
    expect(await store.read(["user/1"], neverAborted)).toEqual([{ systemId: "", timeline: 0, lsn: 0n }]);
    await store.write(["user/1"], at(5), neverAborted);
    expect(await store.read(["user/1"], neverAborted)).toEqual([at(5)]);
  });

  test("are written by a server that forgot its scripts", async () => {
    const store = storeOf("scripts/");
    await opened.server.client.script("FLUSH");
    await Promise.all([1, 2, 3].map((lsn) => store.write(["a", "b"], at(lsn), neverAborted)));
    expect(await store.read(["a", "b"], neverAborted)).toEqual([at(3), at(3)]);
  });

  test("are written plainly, the last one wins, where the server is to run no scripts", async () => {
    const { client } = opened.server;
    const store = new RedisStickingStore({ prefix: "plain/" }, { redis: client, switches: { atomicSticking: false } });
    await store.write(["user/1"], at(9), neverAborted);
    await store.write(["user/1"], at(5), neverAborted);
    expect(await store.read(["user/1"], neverAborted)).toEqual([at(5)]);
    expect(await client.pttl("plain/user/1")).toBeGreaterThan(25_000);
    await store.release("user/1", at(1), neverAborted);
    expect(await store.read(["user/1"], neverAborted)).toEqual([undefined]);
  });

  test("are there again for a store whose server was away, which fails at once meanwhile", async () => {
    await using store = await connectRedis(opened.server.url, { prefix: "away/" }, { logger: silentLogger });
    const written = async (lsn: number) =>
      await store.write(["user/1"], at(lsn), neverAborted).then(
        () => true,
        () => false,
      );
    const until = async (expected: boolean, lsn: number) => {
      while ((await written(lsn)) !== expected) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await until(true, 1);
    await opened.server.stop();
    await until(false, 2);
    await expect(store.read(["user/1"], neverAborted)).rejects.toThrow();
    await opened.server.start();
    await until(true, 3);
    expect(await store.read(["user/1"], neverAborted)).toEqual([at(3)]);
  });

  test("a thousand keys travel together", async () => {
    const keys = Array.from({ length: 1000 }, (_, i) => `bulk/${i}`);
    const store = storeOf("bulk/");
    await store.write(keys, at(9), neverAborted);
    expect(new Set((await store.read(keys, neverAborted)).map((position) => position?.lsn))).toEqual(new Set([9n]));
  });

  test("a frozen server is waited for no longer than the caller wants", async () => {
    const store = storeOf("frozen/");
    await store.write(["user/1"], at(1), neverAborted);
    opened.server.freeze(true);
    try {
      await expect(store.read(["user/1"], AbortSignal.timeout(50))).rejects.toThrow();
      await expect(store.write(["user/1"], at(2), AbortSignal.timeout(50))).rejects.toThrow();
    } finally {
      opened.server.freeze(false);
    }
    expect(await store.read(["user/1"], neverAborted)).toEqual([at(2)]);
  });
});
