export type { Artifact, Generation, ObjectFormat, Pack } from "./generation.ts";
export type { RefEntry, RefTable } from "./ref-table.ts";
export type {
  LocalPack,
  PublishRequest,
  PublishResult,
  RefResult,
  RefUpdate,
  RepositoryStorage,
  StoreHealth,
} from "./repository-storage.ts";
