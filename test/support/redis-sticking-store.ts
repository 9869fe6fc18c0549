import { RedisStickingStore } from "../../src/db/sticking/redis-sticking-store.ts";
import { startRedis } from "./redis-server.ts";

const expirationMs = 60_000;

/** A store on a server of its own; time passes by shortening what every key has left. */
export async function openRedisStickingStore() {
  const server = await startRedis();
  const pass = async (ms: number) => {
    for (const key of await server.client.keys("*")) await server.client.pexpire(key, (await server.client.pttl(key)) - Math.ceil(ms));
  };
  const store = new RedisStickingStore({ expirationMs }, { redis: server.client });
  return { server, store, expirationMs, pass, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
