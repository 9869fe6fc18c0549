import { CodedError } from "../../base/index.ts";
import { type Logger, silentLogger } from "../../observability/index.ts";
import type { SwitchValues } from "../switches.ts";
import { type RedisStickingOptions, RedisStickingStore } from "./redis-sticking-store.ts";

/** What a store that has its own connection works with; each has a default. */
export interface ConnectRedisDeps {
  readonly logger: Logger;
  readonly switches?: Pick<SwitchValues, "atomicSticking">;
}

const connectTimeoutMs = 2000;
const answerTimeoutMs = 2000;
const maxReconnectDelayMs = 2000;

/**
 * Opens a store on the Redis server at `url`, `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]` or `rediss://`. A server that is away is
 * connected to in the background; commands fail at once meanwhile. Errors: `bad_config` where the package `ioredis` is missing.
 */
export async function connectRedis(
  url: string,
  options: Partial<RedisStickingOptions> = {},
  { logger = silentLogger, switches }: Partial<ConnectRedisDeps> = {},
): Promise<RedisStickingStore & AsyncDisposable> {
  const { Redis } = await import("ioredis").catch((cause: unknown) => {
    throw new CodedError("bad_config", "a sticking store in Redis needs the npm package ioredis", {}, { cause });
  });
  const redis = new Redis(url, {
    connectTimeout: connectTimeoutMs,
    // Callers wait for less; but what a server that hangs has not answered would pile up in the client.
    socketTimeout: answerTimeoutMs,
    // What waits for a server that is away would be stale, and more and more.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 10), maxReconnectDelayMs),
  });
  redis.on("error", (error) => logger.debug("redis connection failed", { error }));
  const store = new RedisStickingStore(options, { redis, ...(switches ? { switches } : {}) });
  return Object.assign(store, {
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  });
}
