/**
 * Keys that Gitaly has and this server has no use for. They are accepted, so that a Gitaly file can be used, and named
 * at start. Below the tables that end in `.*` every key counts.
 */
export const ignoredKeys: readonly string[] = [
  "socket_path",
  "bin_dir",
  "runtime_dir",
  "internal_socket_dir",
  "git.use_bundled_binaries",
  "git.catfile_cache_size",
  "git.signing_key",
  "git.rotated_signing_keys",
  "git.committer_name",
  "git.committer_email",
  "git.config.*",
  "git.ignore_gitconfig",
  "logging.sentry_dsn",
  "logging.sentry_environment",
  "logging.ruby_sentry_dsn",
  "prometheus.*",
  "gitlab-shell.*",
  "gitaly-ruby.*",
  "adaptive_limiting.*",
  "pack_objects_cache.*",
  "cgroups.*",
  "daily_maintenance.*",
  "backup.*",
  "bundle_uri.*",
  "timeout.*",
  "transactions.*",
  "raft.*",
];

/** Environment names that Gitaly reads and this server has no use for. */
export const ignoredEnv: readonly string[] = [
  "GITALY_COMMAND_SPAWN_TIMEOUT",
  "GITALY_COMMAND_SPAWN_MAX_PARALLEL",
  "GITALY_PID_FILE",
  "GITALY_UPGRADES_ENABLED",
];

/** The entry of the list that covers `name`. */
export function ignoredKey(name: string): string | undefined {
  return ignoredKeys.find((entry) => (entry.endsWith(".*") ? `${name}.`.startsWith(entry.slice(0, -1)) : entry === name));
}
