import { describe } from "vitest";
import { Mutex, neverAborted } from "../../src/base/index.ts";
import { MemoryStickingStore } from "../../src/db/sticking/memory-sticking-store.ts";
import { PositionTokens } from "../../src/db/sticking/position-tokens.ts";
import { TokenStickingStore } from "../../src/db/sticking/token-sticking-store.ts";
import { redisMissing } from "../support/redis-server.ts";
import { openRedisStickingStore } from "../support/redis-sticking-store.ts";
import { SimClock } from "../support/sim-clock.ts";
import { stickingStoreCompliance } from "./sticking-store.ts";

stickingStoreCompliance("memory", async () => {
  const clock = new SimClock();
  const store = new MemoryStickingStore({ expirationMs: 1000 }, { clock });
  return { store, expirationMs: 1000, pass: (ms) => clock.advance(ms), [Symbol.asyncDispose]: async () => {} };
});

stickingStoreCompliance("a signed token", async () => {
  const clock = new SimClock();
  const tokens = new PositionTokens({ secret: "0123456789abcdef", expirationMs: 1000 }, { clock });
  let token: string | undefined;
  const turn = new Mutex();
  // Every call is a unit of work of its own, and the caller carries the token from each to the next.
  const carried = <T>(work: (store: TokenStickingStore) => Promise<T>) =>
    turn.run(async () => {
      const store = new TokenStickingStore(token === undefined ? [] : [token], { tokens });
      const value = await work(store);
      token = store.token;
      return value;
    }, neverAborted);
  return {
    store: {
      read: (keys) => carried((store) => store.read(keys)),
      write: (keys, position) => carried((store) => store.write(keys, position)),
      release: (key, seen) => carried((store) => store.release(key, seen)),
    },
    expirationMs: 1000,
    pass: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: async () => {},
  };
});

const missing = redisMissing();
if (missing !== undefined) process.stdout.write(`sticking-store: Redis skipped: ${missing}\n`);
describe.skipIf(missing !== undefined)("a real server", () => stickingStoreCompliance("Redis", openRedisStickingStore));
