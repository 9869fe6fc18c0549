import { abortable, type Clock, CodedError, packageVersion, type Random, sharedAbortController, startDeadline } from "../base/index.ts";
import { createRepositoryCache, type RepositoryCache } from "../cache/index.ts";
import type { Config, JoinAddress } from "../config/index.ts";
import type { Logger, MetricsRegistry } from "../observability/index.ts";
import type { BootstrapResponse } from "../proto/gen/gitaly_gossip/v1/BootstrapResponse.ts";
import { createRepositoryStorage, openObjectStore, type RepositoryStorage, redactStoreUrl } from "../storage/index.ts";
import { type AskPeersDeps, askOnce, type PeerAnswer } from "./ask-peers.ts";
import { type CloseStack, disposeAsync } from "./close-stack.ts";
import { markDataDir } from "./cluster-id-file.ts";
import type { GitalyServer } from "./gitaly-server.ts";
import { JoinLoop } from "./join-loop.ts";
import { type KeptPorts, keepPorts } from "./kept-addresses.ts";
import type { Late } from "./late.ts";
import type { LateCatalog } from "./late-catalog.ts";
import { type Listeners, wantedAddress } from "./listeners.ts";
import { type ClusterPlace, databaseOf, locateCluster } from "./locate-cluster.ts";
import { defaultRing, type MemberViews, type RingSettings } from "./member-view.ts";
import { Membership } from "./membership.ts";
import type { NodeStatus } from "./node-status.ts";
import { type DatabasePlace, describeDatabase, openDatabase, withoutUserInfo } from "./open-database.ts";
import { peerCalls } from "./peer-calls.ts";
import { proveStore } from "./prove-store.ts";
import { writeReadyFile } from "./ready-file.ts";

/** What a node starts with: listeners that accept, and places for what it finds. */
export interface NodeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly closing: CloseStack;
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly name: string;
  readonly targets: readonly JoinAddress[];
  readonly keptPorts: KeptPorts | undefined;
  readonly avoidPorts: ReadonlySet<number>;
  readonly listeners: Listeners;
  readonly status: NodeStatus;
  readonly views: MemberViews;
  readonly storage: Late<RepositoryStorage>;
  readonly cache: Late<RepositoryCache>;
  readonly catalog: LateCatalog;
}

const stopped = () => new CodedError("node_unavailable", "the node stops");

/** How long a leaving node waits until the others have heard it. */
const leaveTimeoutMs = 5000;

/** A node from the moment its listeners accept: finds its cluster, serves, drains. */
export class RunningNode implements GitalyServer {
  readonly closed: Promise<void>;
  readonly #config: Config;
  readonly #parts: NodeParts;
  /** Ends the start and what runs in the background. */
  readonly #stop = sharedAbortController();
  /** Ends also what a drain waits for. */
  readonly #atOnce = sharedAbortController();
  readonly #ready: Promise<void>;
  readonly #background: Promise<unknown>[] = [];
  #settleClosed: { resolve: () => void; reject: (error: unknown) => void } = { resolve: () => {}, reject: () => {} };
  #place: ClusterPlace | undefined;
  #database: DatabasePlace = { kind: "none" };
  #clusterId = "";
  #membership: Membership | undefined;
  #failure: { readonly error: unknown } | undefined;
  #draining: Promise<void> | undefined;
  #destroying: Promise<void> | undefined;
  #finishing: Promise<void> | undefined;

  constructor(config: Config, parts: NodeParts) {
    this.#config = config;
    this.#parts = parts;
    this.closed = new Promise((resolve, reject) => {
      this.#settleClosed = { resolve, reject };
    });
    this.closed.catch(() => {});
    this.#ready = this.#start(this.#stop.signal);
    this.#ready.catch((error) => this.#fail(error));
  }

  get info(): GitalyServer["info"] {
    const { name, dataDir, listeners } = this.#parts;
    return {
      node: name,
      pid: process.pid,
      version: packageVersion,
      dataDir,
      grpc: listeners.grpcAddress,
      http: listeners.httpAddress,
      gossip: this.#membership?.address ?? "",
      clusterId: this.#clusterId,
    };
  }

  /** Where the store and the database are, for people. */
  get places(): { objectStorage: string; database: string } {
    return { objectStorage: this.#place ? redactStoreUrl(this.#place.storeUrl) : "", database: describeDatabase(this.#database) };
  }

  /** What a joiner is told; undefined while this node does not know its store. */
  bootstrap(): BootstrapResponse | undefined {
    const membership = this.#membership;
    if (!this.#place || !membership) return undefined;
    const database = this.#database;
    const { replicas, seed } = this.#parts.views.current.ring;
    return {
      clusterId: this.#clusterId,
      node: this.#parts.name,
      objectStorageUrl: redactStoreUrl(this.#place.storeUrl),
      objectStorageEmbedded: this.#place.storeEmbedded,
      databaseDirectory: database.kind === "embedded" ? database.directory : "",
      databaseUrls: database.kind === "urls" ? [database.primary, ...database.replicas].map(withoutUserInfo) : [],
      gossipAddresses: membership.liveAddresses,
      replicas,
      hashSeed: String(seed),
    };
  }

  whenReady(signal: AbortSignal): Promise<void> {
    return abortable(this.#ready, signal);
  }

  waitingFor(): string {
    return this.#parts.status.state === "warming" ? this.#parts.status.waitingFor : "";
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy();
    return this.#destroying;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, closing, dataDir, name, targets, status } = this.#parts;
    const parts = { clock, random, logger, metrics: this.#parts.metrics };
    const onWaiting = (reason: string) => {
      status.waitingFor = reason;
    };
    const calls = peerCalls({ self: name, label: this.#config.cluster.label }, parts);
    const place = await locateCluster(this.#config, dataDir, targets, { ...calls, onWaiting }, signal);
    onWaiting("the object store");
    const store = closing.use("object store", await openObjectStore(place.storeUrl, parts), disposeAsync);
    const storage = closing.use("storage", createRepositoryStorage({ writer: name }, { ...parts, store }), disposeAsync);
    const clusterId = await proveStore({ ...parts, store, storage, onWaiting, told: place.clusterId !== undefined }, signal);
    if (place.clusterId !== undefined && place.clusterId !== clusterId) {
      throw new CodedError("cluster_mismatch", "the object store holds another cluster than the one this node was told", {
        theirs: clusterId,
        ours: place.clusterId,
      });
    }
    signal.throwIfAborted();
    markDataDir(dataDir, clusterId);
    const { maxBytes, minFreeBytes } = this.#config.cache;
    const cache = closing.use(
      "cache",
      await createRepositoryCache({ dir: this.#parts.cacheDir, maxBytes, minFreeBytes }, { ...parts, storage }),
      disposeAsync,
    );
    onWaiting("the other members");
    const answer = await askOnce(targets, clusterId, { ...calls }, signal);
    const loop = await this.#join(place, answer, clusterId, calls, signal);
    // A node that was told to stop meanwhile never becomes ready.
    signal.throwIfAborted();
    this.#parts.storage.set(storage);
    this.#parts.cache.set(cache);
    this.#place = place;
    this.#clusterId = clusterId;
    this.#database = this.#databasePlace(place, answer);
    this.#background.push(
      openDatabase(this.#database, this.#parts.catalog, { ...parts, closing }, signal),
      loop.run(signal).catch((error) => this.#fail(error)),
    );
    this.#becomeReady();
  }

  /** Enters gossip, `warming`, and tries each join target once, so that a name or cluster that is wrong ends the start. */
  async #join(
    place: ClusterPlace,
    answer: PeerAnswer | undefined,
    clusterId: string,
    calls: AskPeersDeps,
    signal: AbortSignal,
  ): Promise<JoinLoop> {
    const { clock, random, logger, metrics, closing, name, targets, listeners, views, keptPorts, avoidPorts } = this.#parts;
    const { cluster } = this.#config;
    signal.throwIfAborted();
    const told = answer && { replicas: answer.replicas, hashSeed: BigInt(answer.hashSeed) };
    const ring: RingSettings = {
      replicas: cluster.replicas ?? place.replicas ?? told?.replicas ?? defaultRing.replicas,
      hashSeed: cluster.hashSeed ?? place.hashSeed ?? told?.hashSeed ?? defaultRing.hashSeed,
    };
    const membership = await Membership.start(
      {
        name,
        wanted: wantedAddress(this.#config.gossip, keptPorts?.gossip, avoidPorts),
        avoidPorts,
        advertiseHost: this.#config.advertiseHost,
        cluster,
        ring,
        facts: {
          grpcAddress: listeners.grpcAddress,
          httpUrl: listeners.httpUrl,
          weight: cluster.weight,
          zone: cluster.zone,
          version: packageVersion,
          clusterId,
        },
      },
      { clock, random, logger, metrics, views },
    );
    this.#membership = closing.use("gossip", membership, disposeAsync);
    const loop = new JoinLoop(targets, {
      ...calls,
      clusterId,
      self: name,
      join: (addresses, joinSignal) => membership.join(addresses, joinSignal),
      alone: () => membership.alone,
      refused: metrics.counter("gitaly_cluster_join_refused_total", "Join targets that turned out to belong to another cluster"),
    });
    if (place.gossipAddresses.length > 0) await membership.join(place.gossipAddresses, signal);
    // Where no target answered a moment ago, the node serves first and goes on trying.
    if (answer) await loop.round(true, signal);
    return loop;
  }

  /** The configured database, the one the members use, or an embedded one of this node's own. */
  #databasePlace(place: ClusterPlace, answer: PeerAnswer | undefined): DatabasePlace {
    const { url, replicas } = this.#config.database;
    if (url !== undefined) return { kind: "urls", primary: url, replicas };
    if (place.database) return place.database;
    const told = answer && databaseOf(answer);
    return told && told.kind !== "none" ? told : { kind: "embedded", directory: this.#parts.dataDir };
  }

  #becomeReady(): void {
    const { status, listeners, dataDir, logger, name } = this.#parts;
    const membership = this.#membership as Membership;
    status.state = "ready";
    status.waitingFor = "";
    membership.setState("ready");
    keepPorts(dataDir, { grpc: listeners.grpcPort, http: listeners.httpPort, gossip: membership.port });
    const { grpc, http, gossip } = this.info;
    if (this.#config.readyFile !== undefined) writeReadyFile(this.#config.readyFile, { node: name, grpc, http, gossip });
    logger.info("ready", {
      grpc,
      http,
      gossip,
      clusterId: this.#clusterId,
      objectStorage: this.places.objectStorage,
      database: this.places.database,
    });
  }

  async #drain(): Promise<void> {
    const { clock, status, listeners, logger } = this.#parts;
    const { drainLingerMs, gracefulRestartTimeoutMs } = this.#config;
    const wasReady = status.state === "ready";
    logger.info("draining");
    status.state = "draining";
    if (!wasReady) {
      this.#stop.abort(stopped());
      await Promise.allSettled([this.#ready]);
    }
    const membership = this.#membership;
    if (wasReady && membership) {
      membership.setState("draining");
      if (!membership.alone) await clock.sleep(drainLingerMs, this.#atOnce.signal).catch(() => {});
    }
    {
      using deadline = startDeadline(clock, gracefulRestartTimeoutMs, this.#atOnce.signal);
      await Promise.allSettled([listeners.rpc.close(deadline.signal), listeners.gateway.close(deadline.signal)]);
    }
    if (membership) {
      using deadline = startDeadline(clock, leaveTimeoutMs, this.#atOnce.signal);
      await membership.leave(deadline.signal);
    }
    await this.#finish();
  }

  async #destroy(): Promise<void> {
    const { listeners } = this.#parts;
    this.#stop.abort(stopped());
    this.#atOnce.abort(stopped());
    await Promise.allSettled([listeners.rpc.destroy(), listeners.gateway.destroy(), this.#membership?.destroy()]);
    await this.#finish();
  }

  /** Closes what is open, once. */
  #finish(): Promise<void> {
    this.#finishing ??= this.#closeAll();
    return this.#finishing;
  }

  async #closeAll(): Promise<void> {
    this.#stop.abort(stopped());
    // The start adds to the background, so it ends first.
    await Promise.allSettled([this.#ready]);
    await Promise.allSettled(this.#background);
    await this.#parts.closing.close();
    if (this.#failure) this.#settleClosed.reject(this.#failure.error);
    else this.#settleClosed.resolve();
  }

  /** The node cannot go on: it closes, and `closed` tells why. */
  #fail(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#parts.logger.error("the node cannot go on", { error });
    this.#failure = { error };
    void this.destroy();
  }
}
