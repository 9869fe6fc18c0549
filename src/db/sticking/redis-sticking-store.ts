import { createHash } from "node:crypto";
import { abortable, errnoOf } from "../../base/index.ts";
import { formatPosition, type Position, parsePosition, unknownPosition } from "../position/position.ts";
import { defaultSwitches, type SwitchValues } from "../switches.ts";
import type { StickingStore } from "./sticking-store.ts";

/** What is needed of a Redis client; one of `ioredis` fits. Commands sent without waiting travel together. */
export interface RedisCommands {
  get(key: string): Promise<string | null>;
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  set(key: string, value: string, unit: "PX", expiryMs: number): Promise<unknown>;
  del(key: string): Promise<unknown>;
}

/** How keys are kept in Redis. */
export interface RedisStickingOptions {
  /** A key is forgotten this long after its newest write. Default 30000 ms. */
  readonly expirationMs: number;
  /** In front of every key. Default "database-load-balancing/write-location/". */
  readonly prefix: string;
}

const defaultRedisStickingOptions: RedisStickingOptions = {
  expirationMs: 30_000,
  prefix: "database-load-balancing/write-location/",
};

// Halves of 32 bits, since Lua's numbers are doubles. A value that cannot be compared gives way to the newer write.
const writeScript = `
local pattern = "^(%d*):(%d+):(%x+)/(%x+)$"
local stored = redis.call("GET", KEYS[1])
local oldSystem, oldTimeline, oldHigh, oldLow = string.match(stored or "", pattern)
local system, timeline, high, low = string.match(ARGV[1], pattern)
if oldSystem and oldSystem == system then
  local old = { tonumber(oldTimeline), tonumber(oldHigh, 16), tonumber(oldLow, 16) }
  local new = { tonumber(timeline), tonumber(high, 16), tonumber(low, 16) }
  for i = 1, 3 do
    if old[i] > new[i] then
      redis.call("PEXPIRE", KEYS[1], ARGV[2])
      return 0
    end
    if old[i] < new[i] then break end
  end
end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1
`;

const releaseScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
`;

const digest = (script: string): string => createHash("sha1").update(script).digest("hex");
const scripts = {
  write: { text: writeScript, sha: digest(writeScript) },
  release: { text: releaseScript, sha: digest(releaseScript) },
};

/** Sticking shared by every process that uses the same Redis. Each script touches one key, so a Redis cluster will do. */
export class RedisStickingStore implements StickingStore {
  readonly #options: RedisStickingOptions;
  readonly #redis: RedisCommands;
  readonly #switches: Pick<SwitchValues, "atomicSticking">;

  constructor(
    options: Partial<RedisStickingOptions>,
    deps: { readonly redis: RedisCommands; readonly switches?: Pick<SwitchValues, "atomicSticking"> },
  ) {
    this.#options = { ...defaultRedisStickingOptions, ...options };
    this.#redis = deps.redis;
    this.#switches = deps.switches ?? defaultSwitches;
  }

  async read(keys: readonly string[], signal: AbortSignal): Promise<readonly (Position | undefined)[]> {
    const values = Promise.all(keys.map((key) => this.#redis.get(this.#options.prefix + key)));
    // A value that nobody can read may stand for any write.
    return (await abortable(values, signal)).map((value) => (value === null ? undefined : (parsePosition(value) ?? unknownPosition)));
  }

  async write(keys: readonly string[], position: Position, signal: AbortSignal): Promise<void> {
    const text = formatPosition(position);
    const { expirationMs, prefix } = this.#options;
    const write = this.#switches.atomicSticking
      ? (key: string) => this.#run(scripts.write, key, [text, String(expirationMs)])
      : (key: string) => this.#redis.set(prefix + key, text, "PX", expirationMs);
    await abortable(Promise.all(keys.map(write)), signal);
  }

  async release(key: string, seen: Position, signal: AbortSignal): Promise<void> {
    const { atomicSticking } = this.#switches;
    await abortable(
      atomicSticking ? this.#run(scripts.release, key, [formatPosition(seen)]) : this.#redis.del(this.#options.prefix + key),
      signal,
    );
  }

  async #run(script: { readonly text: string; readonly sha: string }, key: string, args: readonly string[]): Promise<void> {
    const name = this.#options.prefix + key;
    try {
      await this.#redis.evalsha(script.sha, 1, name, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw error;
      await this.#redis.eval(script.text, 1, name, ...args);
    }
  }
}

/** Redis forgets scripts when it restarts. Its errors carry their code as the first word of the message. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && (errnoOf(error) === "NOSCRIPT" || error.message.startsWith("NOSCRIPT"));
}
