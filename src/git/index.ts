export { createGit, defaultGitOptions, type GitDeps, type GitOptions } from "./create-git.ts";
export type {
  CheckedPush,
  CommandResult,
  Git,
  GitObject,
  GitService,
  PublishPush,
  PushCommand,
  ReceivedPack,
  ReceivePackOptions,
  UploadPackOptions,
} from "./git.ts";
export type { RefValue, RefView, RepositorySnapshot, RepositoryView } from "./repository-view.ts";
export { checkRevision } from "./revision.ts";
