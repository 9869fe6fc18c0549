import { join } from "node:path";
import { abortable, CodedError, packageVersion, sharedAbortController, startDeadline } from "../base/index.ts";
import { createRepositoryCache } from "../cache/index.ts";
import type { Config } from "../config/index.ts";
import type { BootstrapResponse } from "../proto/gen/gitaly_gossip/v1/BootstrapResponse.ts";
import { createRepositoryStorage, type ObjectStore, openObjectStore, redactStoreUrl } from "../storage/index.ts";
import { askOnce, type PeerAnswer } from "./ask-peers.ts";
import { disposeAsync } from "./close-stack.ts";
import { markDataDir } from "./cluster-id-file.ts";
import { enterGossip } from "./enter-gossip.ts";
import type { GitalyServer } from "./gitaly-server.ts";
import { keepPorts } from "./kept-addresses.ts";
import { keepPeers } from "./kept-peers.ts";
import { liveNodes } from "./live-nodes.ts";
import { type ClusterPlace, databaseOf, locateCluster } from "./locate-cluster.ts";
import type { Membership } from "./membership.ts";
import type { NodeParts } from "./node-parts.ts";
import { type DatabasePlace, type DatabaseSettings, describeDatabase, openDatabase, withoutUserInfo } from "./open-database.ts";
import { peerCalls } from "./peer-calls.ts";
import { proveStore } from "./prove-store.ts";
import { writeReadyFile } from "./ready-file.ts";
import { reconcileCatalog } from "./reconcile-catalog.ts";

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
    const calls = peerCalls({ self: name, cluster: this.#config.cluster }, parts);
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
    const answer = await askOnce(targets, clusterId, calls, signal);
    const enter = { config: this.#config, parts: this.#parts, place, answer, clusterId, calls };
    const loop = await enterGossip(
      enter,
      (membership) => {
        this.#membership = membership;
      },
      signal,
    );
    // A node that was told to stop meanwhile never becomes ready.
    signal.throwIfAborted();
    this.#parts.storage.set(storage);
    this.#parts.cache.set(cache);
    this.#place = place;
    this.#clusterId = clusterId;
    this.#database = this.#databasePlace(place, answer);
    this.#background.push(
      openDatabase(
        this.#database,
        this.#parts.catalog,
        { ...parts, closing, database: this.#parts.database, settings: this.#databaseSettings(clusterId) },
        signal,
      ),
      this.#reconcileCatalog(clusterId, store, signal),
      loop.run(signal).catch((error) => this.#fail(error)),
      keepPeers(dataDir, clusterId, () => this.#membership?.livePeers ?? [], { clock, logger }, signal),
    );
    this.#becomeReady();
  }

  /** The configured database, the one the members use, or an embedded one of this node's own. */
  #databasePlace(place: ClusterPlace, answer: PeerAnswer | undefined): DatabasePlace {
    const { url, replicas, discovery: given } = this.#config.database;
    const discovery = given && { discovery: { ...given, snapshotFile: join(this.#parts.dataDir, "database-hosts.json") } };
    if (url !== undefined) return { kind: "urls", primary: url, replicas, ...discovery };
    if (place.database) return place.database;
    const told = answer && databaseOf(answer);
    return told && told.kind !== "none" ? told : { kind: "embedded", directory: this.#parts.dataDir };
  }

  async #reconcileCatalog(clusterId: string, store: ObjectStore, signal: AbortSignal): Promise<void> {
    const { reconcileIntervalMs: intervalMs } = this.#config.catalog;
    if (intervalMs > 0) await reconcileCatalog({ node: this.#parts.name, clusterId, intervalMs }, { ...this.#parts, store }, signal);
  }

  #databaseSettings(clusterId: string): DatabaseSettings {
    const { balancer, sticking, fleetWide } = this.#config.database;
    return { balancer, sticking, fleetWide, clusterId, liveNodes: () => liveNodes(this.#parts.views.current) };
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
