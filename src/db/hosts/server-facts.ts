import { type Position, parseLsn } from "../position/position.ts";

/** What one probe of one server finds out. */
export interface ServerFacts {
  readonly inRecovery: boolean;
  /** Transactions are read-only unless they ask otherwise. Always so in recovery. */
  readonly readOnly: boolean;
  /** initdb's identifier, a decimal number; "" where it was not asked for. */
  readonly systemId: string;
  /** 0 where it was not asked for. In recovery it may lag behind by one restart point without the right to see the WAL receiver. */
  readonly timeline: number;
  /** Where the server's log ends: of a primary, and of a standby that feeds others. */
  readonly writeLsn: bigint | undefined;
  /** What a standby has received and replayed; undefined where it has not since it started. */
  readonly receiveLsn: bigint | undefined;
  readonly replayLsn: bigint | undefined;
  /** Age of the newest transaction that was replayed; undefined where none was. Grows while the primary is idle. */
  readonly replayDelayMs: number | undefined;
  /** A WAL receiver runs. */
  readonly streaming: boolean;
  /** As `server_version_num`: 170010. */
  readonly serverVersion: number;
  /** The database subscribes to a publication: a logical replica, which is not in recovery and could be written. */
  readonly subscriber: boolean;
  /** What a logical replica has applied of its publisher's log; undefined without the privileges, and with several origins. */
  readonly originLsn?: bigint;
  /** When the server was started, as it says: two names with one answer are one server. */
  readonly startedAt: string;
  /** By the monotonic clock. */
  readonly checkedAtMs: number;
}

/** How much is asked: `role` calls no WAL function, which not every service has. */
export type ProbeDepth = "role" | "full";

/** Asked once per connection: whether the origins' progress may be read. */
export const privilegesSql = `SELECT CASE WHEN current_setting('server_version_num')::int < 140000 THEN false
  ELSE has_table_privilege('pg_replication_origin_status', 'select')
   AND has_function_privilege('pg_show_replication_origin_status()', 'execute') END AS origins`;

const roleSql = `SELECT pg_is_in_recovery() AS in_recovery,
  current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('server_version_num')::int AS server_version,
  pg_postmaster_start_time()::text AS started_at`;

// The control file names a new timeline only after a checkpoint; a primary's segment names and a standby's receiver know it at once.
const fullSql = (legacy: boolean, origins: boolean) => `SELECT recovering AS in_recovery,
  current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('server_version_num')::int AS server_version,
  pg_postmaster_start_time()::text AS started_at,
  (SELECT system_identifier::text FROM pg_control_system()) AS system_id,
  CASE WHEN recovering THEN greatest(
      (SELECT timeline_id FROM pg_control_checkpoint()),
      (SELECT min_recovery_end_timeline FROM pg_control_recovery()),
      (SELECT received_tli FROM pg_stat_wal_receiver))
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int END AS timeline,
  (CASE WHEN NOT recovering THEN pg_current_wal_insert_lsn()
    ${legacy ? "" : "WHEN EXISTS (SELECT pid FROM pg_stat_get_wal_senders()) THEN pg_last_wal_replay_lsn()"} END)::text AS write_lsn,
  CASE WHEN recovering THEN pg_last_wal_receive_lsn()::text END AS receive_lsn,
  CASE WHEN recovering THEN pg_last_wal_replay_lsn()::text END AS replay_lsn,
  CASE WHEN recovering THEN (extract(epoch FROM now() - pg_last_xact_replay_timestamp()) * 1000)::float8 END AS replay_delay_ms,
  EXISTS (SELECT pid FROM pg_stat_wal_receiver) AS streaming,
  EXISTS (SELECT subname FROM pg_subscription
    WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())) AS subscriber
  ${origins ? originColumns : ""}
FROM (SELECT pg_is_in_recovery() AS recovering OFFSET 0) AS role`;

// The receiver's own position counts too: log without published changes never moves the origin's.
const originColumns = `,
  (SELECT count(*)::int FROM pg_replication_origin_status) AS origins,
  (SELECT greatest(
    (SELECT min(remote_lsn) FROM pg_replication_origin_status),
    (SELECT min(latest_end_lsn) FROM pg_stat_subscription WHERE relid IS NULL))::text) AS origin_lsn`;

/** The statement that asks for everything at once. `origins`: the privileges are there. `legacy`: a standby that feeds others has no end of its own. */
export function factsSql(depth: ProbeDepth, options: { origins: boolean; legacy: boolean }): string {
  return depth === "role" ? roleSql : fullSql(options.legacy, options.origins);
}

/** The answer's only row. */
export interface FactsRow {
  readonly in_recovery: boolean;
  readonly read_only: boolean;
  readonly server_version: number;
  readonly started_at: string;
  readonly system_id?: string;
  readonly timeline?: number;
  readonly write_lsn?: string | null;
  readonly receive_lsn?: string | null;
  readonly replay_lsn?: string | null;
  readonly replay_delay_ms?: number | null;
  readonly streaming?: boolean;
  readonly subscriber?: boolean;
  readonly origins?: number;
  readonly origin_lsn?: string | null;
}

/** Reads the answer to {@link factsSql}. NULL is unknown, never zero. */
export function factsOf(row: FactsRow, checkedAtMs: number): ServerFacts {
  const lsn = (text: string | null | undefined) => (text ? parseLsn(text) : undefined);
  const originLsn = row.origins === 1 ? lsn(row.origin_lsn) : undefined;
  return {
    inRecovery: row.in_recovery,
    readOnly: row.read_only,
    systemId: row.system_id ?? "",
    timeline: row.timeline ?? 0,
    writeLsn: lsn(row.write_lsn),
    receiveLsn: lsn(row.receive_lsn),
    replayLsn: lsn(row.replay_lsn),
    // Clocks of two servers differ a little.
    replayDelayMs: typeof row.replay_delay_ms === "number" ? Math.max(0, row.replay_delay_ms) : undefined,
    streaming: row.streaming ?? false,
    serverVersion: row.server_version,
    subscriber: row.subscriber ?? false,
    ...(originLsn ? { originLsn } : {}),
    startedAt: row.started_at,
    checkedAtMs,
  };
}

/** Where a primary's log ends; undefined for anything that is not writing a log of its own. */
export function writtenPosition(facts: ServerFacts): Position | undefined {
  if (facts.inRecovery || facts.writeLsn === undefined || facts.systemId === "") return undefined;
  return { systemId: facts.systemId, timeline: facts.timeline, lsn: facts.writeLsn };
}

/** What can be read at a server, as a place in the primary's log. `primary` names the log of a logical replica, which has one of its own. */
export function reachedPosition(facts: ServerFacts, primary: Position | undefined): Position | undefined {
  if (facts.inRecovery) {
    const lsn = facts.replayLsn;
    return lsn === undefined || facts.systemId === "" ? undefined : { systemId: facts.systemId, timeline: facts.timeline, lsn };
  }
  if (primary && facts.systemId === primary.systemId) return writtenPosition(facts);
  if (!primary || facts.originLsn === undefined) return undefined;
  return { systemId: primary.systemId, timeline: primary.timeline, lsn: facts.originLsn };
}
