import { readFunctions } from "./read-functions.ts";

/** What calling a function may do. `session`: it works on, or answers about, this one connection. */
export type FunctionKind = "read" | "write" | "session" | "unknown";

const sessionFunctions: ReadonlySet<string> = new Set([
  "set_config",
  "setseed",
  "currval",
  "lastval",
  "pg_export_snapshot",
  "pg_my_temp_schema",
  "pg_prepared_statement",
  "pg_cursor",
  "pg_listening_channels",
]);

// Functions that fail on a standby, or, worse, succeed there without the effect that was asked for.
const writePatterns: readonly RegExp[] = [
  /^(nextval|setval|txid_current|pg_current_xact_id|pg_nextoid|ts_rewrite|ts_stat)$/,
  /^(lo_|loread$|lowrite$|dblink)/,
  /^pg_(try_)?advisory_/,
  /^pg_(notify|logical_|create_|drop_|copy_|replication_slot_|sync_replication_|replication_origin_(?!oid$|progress$))/,
  /^pg_(backup_|start_backup|stop_backup|promote$|reload_conf|rotate_logfile|switch_wal|log_|wal_replay_(pause|resume)$|import_)/,
  /^pg_(cancel_backend|terminate_backend|stat_reset|stat_clear_snapshot$|stat_force|extension_config_dump|stop_making)/,
  /^pg_(current_wal_|walfile_name|last_committed_xact|xact_commit_timestamp)/,
  /^(brin_(summarize|desummarize)|gin_clean_pending_list|binary_upgrade_|currtid)/,
  // These run SQL that is hidden in an argument.
  /^(query|table|schema|database|cursor)_to_xml/,
];

/** Classes a function by its name as written: `["pg_catalog", "setval"]` or `["setval"]`. */
export function functionKind(name: readonly string[], pureFunctions: ReadonlySet<string>): FunctionKind {
  const bare = name.at(-1) ?? "";
  if (pureFunctions.has(name.join("."))) return "read";
  // Another schema's function can do anything, whatever it is called.
  if (name.length > 1 && name[0] !== "pg_catalog") return bare.startsWith("dblink") ? "write" : "unknown";
  if (sessionFunctions.has(bare)) return "session";
  if (writePatterns.some((pattern) => pattern.test(bare))) return "write";
  if (readFunctions.has(bare) || bare.startsWith("pg_stat_get_")) return "read";
  return "unknown";
}
