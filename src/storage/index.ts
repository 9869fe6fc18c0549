export { readClusterId, readOrCreateClusterId } from "./cluster-id.ts";
export {
  createRepositoryStorage,
  defaultRepositoryStorageOptions,
  type ProbedRepositoryStorage,
  type RepositoryStorageDeps,
  type RepositoryStorageOptions,
} from "./create-repository-storage.ts";
export type { Artifact, Generation, ObjectFormat, Pack } from "./generation.ts";
export { type ArtifactExt, type ArtifactNameParts, parseArtifactName } from "./keys.ts";
export { defaultManagedStoreOptions, type ManagedStoreOptions } from "./managed-store.ts";
export type { CreateResult, ListedObject, ListPage, ListRequest, ObjectStore, ObjectStream, PutBody } from "./object-store.ts";
export { type OpenObjectStoreDeps, openObjectStore, redactStoreUrl } from "./open-object-store.ts";
export { parseRefTable } from "./packed-refs.ts";
export { type ProbeDeps, type ProbeOptions, probeStore } from "./probe.ts";
export { isRefName } from "./ref-name.ts";
export { applyUpdates } from "./ref-stack.ts";
export type { RefEntry, RefTable } from "./ref-table.ts";
export { RepositoryScan, type ScannedRepository } from "./repository-scan.ts";
export type {
  LocalPack,
  PublishRequest,
  PublishResult,
  RefResult,
  RefUpdate,
  RepositoryStorage,
  StoreHealth,
} from "./repository-storage.ts";
