import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CodedError, errnoOf, neverAborted, startDeadline, systemClock, systemRandom } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import { createLoadBalancer, serverNames } from "../db/index.ts";
import { createGit } from "../git/index.ts";
import { type Logger, noMetrics, silentLogger } from "../observability/index.ts";
import { openObjectStore, probeStore, redactStoreUrl } from "../storage/index.ts";
import { defaultDataDir } from "./choose-data-dir.ts";
import { withoutUserInfo } from "./open-database.ts";

/** One thing looked at. */
export interface CheckResult {
  readonly name: string;
  readonly ok: boolean;
  /** What was found; when not ok, what is wrong and what to do. */
  readonly message: string;
}

const parts = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
const checkTimeoutMs = 15_000;

/** Looks whether a node with this configuration, which has been read without a fault, could serve: git, the object store, the database's servers. */
export async function* runChecks(config: Config): AsyncGenerator<CheckResult> {
  yield await check("git", () => checkGit(config));
  yield await check("object_storage", (signal) => checkStore(config, signal));
  yield await check("database", (signal) => checkDatabase(config, signal));
}

async function check(name: string, look: (signal: AbortSignal) => Promise<string>): Promise<CheckResult> {
  using deadline = startDeadline(systemClock, checkTimeoutMs, neverAborted);
  try {
    return { name, ok: true, message: await look(deadline.signal) };
  } catch (error) {
    return { name, ok: false, message: withCauses(error) };
  }
}

/** What went wrong and why, on one line: some errors of the platform have no message but an errno. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.message || (errnoOf(error) ?? error.name);
  return error.cause === undefined ? own : `${own}: ${withCauses(error.cause)}`;
}

async function checkGit(config: Config): Promise<string> {
  await using git = await createGit({ binPath: config.git.binPath, spawner: "direct" }, parts);
  return `version ${git.version}`;
}

async function checkStore(config: Config, signal: AbortSignal): Promise<string> {
  const url = config.objectStorage.url ?? pathToFileURL(join(config.dataDir ?? defaultDataDir(process.env), "objects")).href;
  await using store = await openObjectStore(url, parts);
  const health = await probeStore({ ...parts, store }, { probeTimeoutMs: checkTimeoutMs }, signal);
  if (health.state === "proven") return `${redactStoreUrl(url)} creates only once, reads what was written and lists in order`;
  throw new CodedError(health.code ?? "failed_precondition", `${redactStoreUrl(url)} is ${health.state}: ${health.message}`);
}

async function checkDatabase(config: Config, signal: AbortSignal): Promise<string> {
  const { url, replicas } = config.database;
  if (url === undefined) return "embedded";
  const roles: string[] = [];
  for (const [server, wanted] of [[url, "primary"] as const, ...replicas.map((replica) => [replica, "replica"] as const)]) {
    const name = withoutUserInfo(server);
    const role = await roleOf(server, signal).catch((cause: unknown) => {
      throw new Error(name, { cause });
    });
    if (role !== wanted) throw new CodedError("failed_precondition", `${name} is a ${role} and configured as the ${wanted}`);
    roles.push(`${name} is the ${role}`);
  }
  return [...roles, ...(await foundServers(config))].join(", ");
}

/** What discovery names beside the configured servers. */
async function foundServers({ database: { url, replicas, discovery, balancer } }: Config): Promise<string[]> {
  if (url === undefined || discovery === undefined) return [];
  let failure: { readonly error: unknown } | undefined;
  const logger: Logger = {
    ...silentLogger,
    warn: (_message, fields) => {
      if (fields?.["event"] === "service_discovery_failure") failure = { error: fields["error"] };
    },
  };
  await using database = await createLoadBalancer({ ...balancer, primary: url, replicas, discovery }, { ...parts, logger });
  if (failure) throw new Error("database.discovery", { cause: failure.error });
  const known = new Set(serverNames(url, replicas));
  return database.status
    .filter(({ host }) => !known.has(host))
    .map(({ host, role, usable, reason }) => `${host} is found and ${usable ? `a ${role}` : `not usable: ${reason}`}`);
}

async function roleOf(server: string, signal: AbortSignal): Promise<"primary" | "replica"> {
  await using database = await createLoadBalancer({ primary: server, replicas: [] }, parts);
  const { rows } = await database.query<{ recovery: boolean }>("SELECT pg_is_in_recovery() AS recovery", [], { signal });
  return rows[0]?.recovery ? "replica" : "primary";
}
