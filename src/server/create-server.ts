import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, CodedError, packageVersion, type Random, systemClock, systemRandom } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import { createGit } from "../git/index.ts";
import { createLogger, createMetrics, type Logger, type MetricsRegistry } from "../observability/index.ts";
import { createSmartHttp, type ServicesDeps } from "../services/index.ts";
import { chooseDataDir, defaultDataDir } from "./choose-data-dir.ts";
import { CloseStack, disposeAsync } from "./close-stack.ts";
import type { DataDirLock } from "./data-dir-lock.ts";
import type { GitalyServer } from "./gitaly-server.ts";
import { expectedPeerPorts, joinTargets } from "./join-targets.ts";
import { readKeptPorts } from "./kept-addresses.ts";
import { Late } from "./late.ts";
import { LateCache } from "./late-cache.ts";
import { LateCatalog } from "./late-catalog.ts";
import { LateStorage } from "./late-storage.ts";
import { openListeners, settleGrpcPort, wantedAddress } from "./listeners.ts";
import { MemberViews } from "./member-view.ts";
import { chooseNodeName, keepNodeName } from "./node-name.ts";
import type { NodeParts } from "./node-parts.ts";
import { NodeStatus } from "./node-status.ts";
import { RunningNode } from "./running-node.ts";

/** What tests and embedders may replace. */
export interface ServerOverrides {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
}

/** The one storage that a cluster shows. */
const storageName = "default";

/** Starts of one node, each of which may lose its port to another process. */
const maxAttempts = 20;

/**
 * Starts a node: locks its data directory and opens its listeners, then finds its cluster in the background.
 *
 * Resolves once the listeners accept. Errors: `data_dir_in_use`, `failed_precondition` (a port that is taken), `bad_config` (a name that is none, git missing).
 */
export async function createServer(config: Config, overrides: ServerOverrides = {}): Promise<GitalyServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(config, overrides);
    } catch (error) {
      // Nodes that start at the same moment look for ports at the same moment.
      if (attempt >= maxAttempts || !CodedError.is(error, "conflict")) throw error;
    }
  }
}

async function startOnce(config: Config, overrides: ServerOverrides): Promise<GitalyServer> {
  const clock = overrides.clock ?? systemClock;
  const random = overrides.random ?? systemRandom;
  const dataDir = config.dataDir;
  const logger = overrides.logger ?? openLog(config);
  const lock = chooseDataDir({ given: dataDir, joins: config.joinAddrs.length > 0, defaultDir: defaultDataDir(process.env) }, random);
  const closing = new CloseStack(logger);
  closing.use("data directory", lock, (held) => held[Symbol.dispose]());
  try {
    // One of an earlier start would tell that this one serves.
    if (config.readyFile !== undefined) rmSync(config.readyFile, { force: true });
    return await assemble(config, { clock, random, logger, metrics: overrides.metrics ?? createMetrics(), closing, lock });
  } catch (error) {
    await closing.close();
    throw error;
  }
}

interface Base {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly closing: CloseStack;
  readonly lock: DataDirLock;
}

async function assemble(config: Config, base: Base): Promise<GitalyServer> {
  const { closing, lock, logger, ...parts } = base;
  const keptPorts = readKeptPorts(lock.dir);
  const targets = joinTargets(config, keptPorts);
  const avoidPorts = expectedPeerPorts(targets);
  const grpcPort = await settleGrpcPort(wantedAddress(config.grpc, keptPorts?.grpc, avoidPorts), avoidPorts);
  const { name, made } = chooseNodeName({ given: config.nodeName, dataDir: lock.dir, hostname: hostname(), grpcPort });
  const nodeLogger = logger.child({ node: name });
  const gitOptions = { binPath: config.git.binPath, tempDir: join(lock.dir, "git") };
  const git = closing.use("git", await createGit(gitOptions, { ...parts, logger: nodeLogger }), disposeAsync);

  const status = new NodeStatus();
  const views = new MemberViews(name);
  const storage: NodeParts["storage"] = new Late("storage");
  const cache: NodeParts["cache"] = new Late("cache");
  const catalog = new LateCatalog({ ...parts, logger: nodeLogger });
  const database: NodeParts["database"] = new Late("database");
  const cacheDir = config.cache.dir ?? join(lock.dir, "cache");
  const shared = { ...parts, logger: nodeLogger, git, catalog, storage: new LateStorage(storage), cache: new LateCache(cache) };
  const smartHttp = closing.use("smart http", createSmartHttp(shared), disposeAsync);
  // The node answers questions about itself that are asked through it; it exists a few lines further on.
  const node = new Late<RunningNode>("node");
  const services: ServicesDeps = {
    ...shared,
    smartHttp,
    storageName,
    cacheDir,
    view: () => views.current,
    onViewChange: (listener) => views.onChange(listener),
    bootstrap: () => node.ifSet?.bootstrap(),
    database: () => database.ifSet,
    node: factsOf(name, node, status, parts.clock),
  };
  const listeners = await openListeners(config, grpcPort, keptPorts, avoidPorts, {
    ...parts,
    logger: nodeLogger,
    closing,
    services,
    status,
    view: () => views.current,
    database,
  });
  // The port that made the name may be another node's by now, and then the name is too.
  if (made && listeners.grpcPort !== grpcPort) throw new CodedError("conflict", "another process took the port that names this node");
  keepNodeName(lock.dir, name);
  lock.describe(name, listeners.grpcAddress);
  const running = new RunningNode(config, {
    ...parts,
    logger: nodeLogger,
    closing,
    dataDir: lock.dir,
    cacheDir,
    name,
    targets,
    keptPorts,
    avoidPorts,
    listeners,
    status,
    views,
    storage,
    cache,
    catalog,
    database,
  });
  node.set(running);
  return running;
}

/** What the services tell of the node itself. */
function factsOf(name: string, node: Late<RunningNode>, status: NodeStatus, clock: Clock): ServicesDeps["node"] {
  return {
    name,
    version: packageVersion,
    startedAtMs: clock.monotonic(),
    clusterId: () => node.ifSet?.info.clusterId ?? "",
    places: () => node.ifSet?.places ?? { objectStorage: "", database: "" },
    state: () => ({
      state: status.state,
      checks: status.state === "warming" ? [{ name: "start", ok: false, message: status.waitingFor }] : [],
    }),
  };
}

function openLog(config: Config): Logger {
  const { level, dir } = config.logging;
  try {
    return createLogger({ level, ...(dir === undefined ? {} : { destination: join(dir, "gitaly.log") }) });
  } catch (error) {
    throw new CodedError("bad_config", "the log directory cannot be written to", { key: "logging.dir", dir }, { cause: error });
  }
}
