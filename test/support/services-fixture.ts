import { type Clock, CodedError, systemClock } from "../../src/base/index.ts";
import type { RepositoryCache, RepositoryLease } from "../../src/cache/index.ts";
import type { Catalog, CatalogEntry } from "../../src/catalog/index.ts";
import type { Git, GitObject, RefValue } from "../../src/git/index.ts";
import { silentLogger } from "../../src/observability/index.ts";
import type { Repository__Output } from "../../src/proto/gen/gitaly/Repository.ts";
import { Ring } from "../../src/ring/index.ts";
import type { MemberInfo, MemberView } from "../../src/routing/index.ts";
import type { CallContext } from "../../src/rpc/index.ts";
import { createSmartHttp, type NodeCheck, type ServicesDeps } from "../../src/services/index.ts";
import type { Generation, PublishRequest, PublishResult, RefTable, RepositoryStorage, StoreHealth } from "../../src/storage/index.ts";
import { memberInfo } from "./member-view.ts";

/** A repository as a test states it. */
export interface FakeRepository {
  generation: Generation;
  refs: RefValue[];
}

/** A first generation with what a test says otherwise. */
export function fakeGeneration(path: string, content: Partial<Generation> = {}): Generation {
  return {
    format: 1,
    n: 1,
    parentDigest: "",
    txid: "t1",
    writer: "n1",
    writtenAtMs: 2000,
    state: "live",
    repoId: `id-of-${path}`,
    poolId: "p1",
    path,
    objectFormat: "sha1",
    createdAtMs: 1000,
    head: "refs/heads/main",
    refTables: [],
    inlineRefTable: new Uint8Array(),
    packs: [],
    settings: { replicas: 0, placement: "" },
    pruneEpoch: 0,
    gcEpoch: 0,
    bumpGen: 0,
    trash: {},
    digest: `digest-of-${path}-${content.n ?? 1}`,
    ...content,
  };
}

/** A member that is ready. */
export function fakeMember(name: string, content: Partial<MemberInfo> = {}): MemberInfo {
  return memberInfo(name, { version: "1.0.0", ...content });
}

/** A view in which the ready members are the sites. */
export function fakeView(members: readonly MemberInfo[], replicas = 1): MemberView {
  return {
    self: members[0]?.name ?? "",
    members,
    ring: new Ring(
      members.filter((member) => member.status === "ready"),
      { replicas },
    ),
  };
}

/** The repository of a request. */
export function repositoryMessage(relativePath: string, storageName = "default"): Repository__Output {
  return { storageName, relativePath, gitObjectDirectory: "", gitAlternateObjectDirectories: [], glRepository: "", glProjectPath: "" };
}

/** Everything that an iterable gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const noWishes = { maxStalenessMs: undefined, consistency: undefined, metadata: () => undefined, setTrailer: () => {} };

/** The collaborators of the services, in memory, with what a test wants to set and see. */
export class ServicesFixture {
  readonly repositories = new Map<string, FakeRepository>();
  /** What `readObject` answers, by revision. */
  readonly objects = new Map<string, GitObject>();
  readonly recorded: CatalogEntry[] = [];
  readonly removed: { path: string; repoId: string; generation: number }[] = [];
  readonly published: PublishRequest[] = [];
  openLeases = 0;
  listeners = new Set<() => void>();
  storeHealth: StoreHealth = { state: "proven", message: "" };
  catalogHealth = { ok: true, message: "" };
  nodeState: { state: "warming" | "ready" | "draining"; checks: readonly NodeCheck[] } = { state: "ready", checks: [] };
  clock: Clock = systemClock;
  git: Partial<Git> = {};
  cache: Partial<RepositoryCache> = {};
  storage: Partial<RepositoryStorage> = {};
  catalog: Partial<Catalog> = {};
  #view = fakeView([fakeMember("n1")]);

  /** Adds a repository. */
  add(path: string, refs: Readonly<Record<string, string | RefValue>> = {}, content: Partial<Generation> = {}): FakeRepository {
    const values = Object.entries(refs).map(([name, value]) => (typeof value === "string" ? { name, oid: value } : value));
    const repository = { generation: fakeGeneration(path, content), refs: values.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    this.repositories.set(path, repository);
    return repository;
  }

  /** Replaces the view and tells who listens. */
  setView(view: MemberView): void {
    this.#view = view;
    for (const listener of [...this.listeners]) listener();
  }

  /** A call as the services see it. */
  call(signal: AbortSignal = new AbortController().signal): CallContext {
    return { method: "test", signal, correlationId: "c1", logger: silentLogger, ...noWishes };
  }

  get deps(): ServicesDeps {
    const parts = { storage: this.#storage(), cache: this.#cache(), git: this.#git(), catalog: this.#catalog() };
    const clockAndLogger = { clock: this.clock, logger: silentLogger };
    return {
      ...parts,
      ...clockAndLogger,
      smartHttp: createSmartHttp({ ...parts, ...clockAndLogger }),
      storageName: "default",
      cacheDir: "/",
      node: {
        name: "n1",
        version: "1.2.3",
        startedAtMs: this.clock.monotonic() - 90_500,
        clusterId: () => "cluster-1",
        places: () => ({ objectStorage: "file:///objects", database: "postgres://db" }),
        state: () => this.nodeState,
      },
      view: () => this.#view,
      onViewChange: (listener) => {
        this.listeners.add(listener);
        return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
      },
      bootstrap: () => undefined,
      database: () => undefined,
    };
  }

  lease(path: string): RepositoryLease {
    const repository = this.repositories.get(path);
    if (!repository) throw new CodedError("repository_not_found", "repository not found");
    return this.#leaseOf(repository.generation, repository.refs);
  }

  #leaseOf(generation: Generation, refs: readonly RefValue[]): RepositoryLease {
    this.openLeases++;
    const table: RefTable = {
      size: refs.length,
      get: (name) => refs.find((ref) => ref.name === name),
      withPrefix: (prefix) => refs.filter((ref) => ref.name.startsWith(prefix)),
      toPackedRefs: () => new Uint8Array(),
    };
    return {
      generation,
      objectFormat: generation.objectFormat,
      head: generation.head,
      refs: table,
      snapshot: async () => ({ gitDir: "", objectDir: "" }),
      [Symbol.asyncDispose]: async () => void this.openLeases--,
    };
  }

  #cache(): RepositoryCache {
    return {
      sizeBytes: 4096,
      acquire: async (path) => this.lease(path),
      acquireGeneration: async (generation) => this.#leaseOf(generation, this.repositories.get(generation.path)?.refs ?? []),
      quarantine: async () => ({ dir: "/quarantine", [Symbol.asyncDispose]: async () => {} }),
      adopt: async () => 0,
      reportDamage: async () => 0,
      [Symbol.asyncDispose]: async () => {},
      ...this.cache,
    };
  }

  #storage(): RepositoryStorage {
    const missing = () => new CodedError("repository_not_found", "repository not found");
    return {
      health: this.storeHealth,
      newest: async (path) => this.repositories.get(path)?.generation,
      create: async (path, { objectFormat, head }) => {
        if (this.repositories.has(path)) throw new CodedError("repository_exists", "repository exists already");
        return this.add(path, {}, { objectFormat, head }).generation;
      },
      remove: async (path) => {
        const repository = this.repositories.get(path);
        if (!repository) throw missing();
        this.repositories.delete(path);
        return { ...repository.generation, n: repository.generation.n + 1, state: "deleted" };
      },
      publish: async (request) => this.#publish(request),
      refTable: async (generation) => this.lease(generation.path).refs,
      fetchArtifact: async () => {},
      paths: async function* () {},
      [Symbol.asyncDispose]: async () => {},
      ...this.storage,
    };
  }

  #publish(request: PublishRequest): PublishResult {
    this.published.push(request);
    const repository = this.repositories.get(request.path);
    if (!repository) throw new CodedError("repository_not_found", "repository not found");
    repository.generation = { ...repository.generation, n: repository.generation.n + 1 };
    return { generation: repository.generation, results: request.updates.map(({ ref }) => ({ ref, status: "ok" })) };
  }

  #git(): Git {
    const none = () => {
      throw new Error("not expected in this test");
    };
    return {
      version: "2.45.0",
      advertise: none,
      uploadPack: none,
      receivePack: none,
      disconnected: none,
      readObject: async (_view, revision) => this.objects.get(revision),
      [Symbol.asyncDispose]: async () => {},
      ...this.git,
    };
  }

  #catalog(): Catalog {
    return {
      health: this.catalogHealth,
      record: (entry) => void this.recorded.push(entry),
      recordRemoved: (path, repoId, generation) => void this.removed.push({ path, repoId, generation }),
      find: async () => undefined,
      list: async () => [],
      openToken: () => undefined,
      settle: async () => {},
      replicasOf: () => undefined,
      flush: async () => {},
      [Symbol.asyncDispose]: async () => {},
      ...this.catalog,
    };
  }
}
