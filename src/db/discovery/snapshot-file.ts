import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, CodedError, type Random, randomHex } from "../../base/index.ts";
import { type DiscoveredServer, tidyServers } from "./source.ts";

/** A list as it was found some time ago. */
export interface ServerSnapshot {
  readonly servers: readonly DiscoveredServer[];
  readonly ageMs: number;
}

/** Where the newest list outlives the process. */
export interface SnapshotStore {
  /** Undefined where there is none that may be used. Rejects where it cannot be read. */
  load(): Promise<ServerSnapshot | undefined>;
  save(servers: readonly DiscoveredServer[]): Promise<void>;
}

/** Where and how long a list is kept. */
export interface SnapshotFileOptions {
  readonly file: string;
  /** What the list was found with; a list that was found otherwise is not used. */
  readonly identity: string;
  /** Older lists are not used. */
  readonly maxAgeMs: number;
}

const version = 1;
const maxFileBytes = 1024 * 1024;

/** Keeps the list in a file that is replaced as a whole: readers see the old list or the new one. */
export class SnapshotFile implements SnapshotStore {
  readonly #options: SnapshotFileOptions;
  readonly #deps: { readonly clock: Clock; readonly random: Random };

  constructor(options: SnapshotFileOptions, deps: { readonly clock: Clock; readonly random: Random }) {
    this.#options = options;
    this.#deps = deps;
  }

  async load(): Promise<ServerSnapshot | undefined> {
    const { file, identity, maxAgeMs } = this.#options;
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    if (text.length > maxFileBytes) throw new CodedError("corrupt", "the kept list of database servers is too large", { file });
    const content = parse(text, file);
    if (content.identity !== identity) return undefined;
    // A clock that was set back since gives no negative age.
    const ageMs = Math.max(0, this.#deps.clock.now() - content.savedAtMs);
    const servers = tidyServers(content.servers);
    return ageMs > maxAgeMs || servers.length === 0 ? undefined : { servers, ageMs };
  }

  async save(servers: readonly DiscoveredServer[]): Promise<void> {
    const { file, identity } = this.#options;
    const content = { version, identity, savedAtMs: this.#deps.clock.now(), servers };
    const temporary = `${file}.${randomHex(this.#deps.random, 6)}.tmp`;
    await mkdir(dirname(file), { recursive: true });
    try {
      await writeFile(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600, flush: true });
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw error;
    }
  }
}

function parse(text: string, file: string): { identity: string; savedAtMs: number; servers: DiscoveredServer[] } {
  try {
    const content = JSON.parse(text) as Record<string, unknown>;
    const { identity, savedAtMs, servers } = content;
    if (content["version"] !== version || typeof identity !== "string" || !Number.isFinite(savedAtMs) || !Array.isArray(servers)) {
      throw new TypeError("not a list of servers");
    }
    return { identity, savedAtMs: savedAtMs as number, servers: servers.flatMap(readServer) };
  } catch (error) {
    throw new CodedError("corrupt", "the kept list of database servers cannot be read", { file }, { cause: error });
  }
}

function readServer(value: unknown): DiscoveredServer[] {
  if (typeof value !== "object" || value === null) return [];
  const { host, port, role, name } = value as Record<string, unknown>;
  if (typeof host !== "string" || typeof port !== "number") return [];
  return [
    {
      host,
      port,
      ...(role === "primary" || role === "replica" ? { role } : {}),
      ...(typeof name === "string" ? { name } : {}),
    },
  ];
}
