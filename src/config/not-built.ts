/** Something that the documentation names and that has no effect yet. It is refused, never ignored. */
export interface NotBuilt {
  /** A key, or a table with all below it. */
  readonly key?: string;
  /** A flag of the commands. */
  readonly flag?: string;
  /** The values that are refused; undefined: any. */
  readonly values?: readonly (string | boolean)[];
  /** Only the array of tables, or only the table, of this name. */
  readonly shape?: "array" | "table";
  /** What the user reads. */
  readonly sentence: string;
}

const tls = "TLS is not built yet; use plain gRPC inside a network you trust";
const limits = "limits per RPC are not built yet";

/** All of it, in one place. The first entry that fits is the one shown. */
export const notBuilt: readonly NotBuilt[] = [
  { flag: "token-file", sentence: "authentication by token is not built yet" },
  { key: "auth", sentence: "authentication by token is not built yet; listen on loopback, or give --insecure inside a network you trust" },
  {
    key: "http.auth",
    sentence: "authentication over HTTP is not built yet; listen on loopback, or give --insecure inside a network you trust",
  },
  { key: "tls", sentence: tls },
  { key: "tls_listen_addr", sentence: tls },
  { key: "storage", shape: "array", sentence: "standalone storages are not built yet; repositories live in object_storage.url" },
  { key: "storage", sentence: "retention, epochs and compaction cannot be set yet" },
  { key: "cluster.enabled", values: [false], sentence: "running without a cluster is not built yet; one node alone is a cluster of one" },
  { key: "object_storage.on_outage", values: ["stale"], sentence: 'serving stale reads is not built yet; use "fail"' },
  { key: "concurrency", sentence: limits },
  { key: "rate_limiting", sentence: limits },
  { key: "pack_objects_limiting", sentence: limits },
  { key: "hooks", sentence: "server hooks are not built yet" },
  { key: "gitlab", sentence: "access checks by GitLab are not built yet, and pushes would go unchecked" },
  { key: "config_command", sentence: "configuration from a command is not built yet; use the file and the environment" },
];

/** Said of a join address whose scheme needs TLS. */
export const tlsJoinSentence: string = tls;

/** The entry for a key of the file, where that key or a table around it is not built, whatever its value. */
export function notBuiltKey(name: string, shape: "array" | "table"): NotBuilt | undefined {
  return notBuilt.find((entry) => {
    if (entry.key === undefined || entry.values !== undefined) return false;
    if (name === entry.key) return entry.shape === undefined || entry.shape === shape;
    return entry.shape !== "array" && name.startsWith(`${entry.key}.`);
  });
}

/** The entry for a value of a known key. */
export function notBuiltValue(name: string, value: unknown): NotBuilt | undefined {
  return notBuilt.find((entry) => entry.key === name && entry.values?.some((refused) => refused === value));
}
