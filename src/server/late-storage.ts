import type { ByteString } from "../base/index.ts";
import type {
  Artifact,
  Generation,
  ObjectFormat,
  PublishRequest,
  PublishResult,
  RefTable,
  RepositoryStorage,
  StoreHealth,
} from "../storage/index.ts";
import type { Late } from "./late.ts";

/** The storage of a node that may not know its store yet: until then every call is refused with `node_unavailable`. */
export class LateStorage implements RepositoryStorage {
  readonly #storage: Late<RepositoryStorage>;

  constructor(storage: Late<RepositoryStorage>) {
    this.#storage = storage;
  }

  get health(): StoreHealth {
    return this.#storage.ifSet?.health ?? { state: "unproven", message: "the node does not know its store yet" };
  }

  async newest(path: string, signal: AbortSignal): Promise<Generation | undefined> {
    return this.#storage.value.newest(path, signal);
  }

  async create(path: string, options: { objectFormat: ObjectFormat; head: ByteString }, signal: AbortSignal): Promise<Generation> {
    return this.#storage.value.create(path, options, signal);
  }

  async remove(path: string, signal: AbortSignal): Promise<Generation> {
    return this.#storage.value.remove(path, signal);
  }

  async publish(request: PublishRequest, signal: AbortSignal): Promise<PublishResult> {
    return this.#storage.value.publish(request, signal);
  }

  async refTable(generation: Generation, signal: AbortSignal): Promise<RefTable> {
    return this.#storage.value.refTable(generation, signal);
  }

  async fetchArtifact(generation: Generation, artifact: Artifact, file: string, signal: AbortSignal): Promise<void> {
    await this.#storage.value.fetchArtifact(generation, artifact, file, signal);
  }

  paths(signal: AbortSignal): AsyncIterable<string> {
    return this.#storage.value.paths(signal);
  }

  /** The storage itself is closed by whoever opened it. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
