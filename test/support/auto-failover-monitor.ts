import type { PostgresCluster } from "./postgres-cluster.ts";

/** A node, as far as it matters here. */
export interface AutoFailoverNode {
  readonly name: string;
  readonly host?: string;
  readonly port: number;
  readonly state: string;
  readonly goal?: string;
  readonly health?: 1 | 0 | -1;
}

/** Makes a server look like a monitor of pg_auto_failover to those who only read: its table of nodes, with the columns that are read. */
export async function becomeMonitor(cluster: PostgresCluster): Promise<void> {
  await cluster.sql(
    cluster.primary,
    `DROP SCHEMA IF EXISTS pgautofailover CASCADE;
     CREATE SCHEMA pgautofailover;
     CREATE TYPE pgautofailover.replication_state AS ENUM ('unknown', 'init', 'single', 'wait_primary', 'primary', 'draining', 'demote_timeout',
       'demoted', 'catchingup', 'secondary', 'prepare_promotion', 'stop_replication', 'wait_standby', 'maintenance', 'join_primary', 'apply_settings',
       'prepare_maintenance', 'wait_maintenance', 'report_lsn', 'fast_forward', 'join_secondary', 'dropped');
     CREATE TABLE pgautofailover.node (
       formationid text NOT NULL DEFAULT 'default', nodeid bigserial PRIMARY KEY, groupid int NOT NULL DEFAULT 0, nodename text NOT NULL,
       nodehost text NOT NULL, nodeport int NOT NULL, goalstate pgautofailover.replication_state NOT NULL,
       reportedstate pgautofailover.replication_state NOT NULL, health int NOT NULL DEFAULT 1)`,
  );
}

/** Replaces the monitor's nodes, without a word to those who listen. */
export async function setNodes(cluster: PostgresCluster, nodes: readonly AutoFailoverNode[]): Promise<void> {
  const rows = nodes.map(
    ({ name, host = "127.0.0.1", port, state, goal = state, health = 1 }) =>
      `('${name}', '${host}', ${port}, '${goal}', '${state}', ${health})`,
  );
  await cluster.sql(
    cluster.primary,
    `BEGIN; DELETE FROM pgautofailover.node;
     ${rows.length > 0 ? `INSERT INTO pgautofailover.node (nodename, nodehost, nodeport, goalstate, reportedstate, health) VALUES ${rows.join()};` : ""}
     COMMIT`,
  );
}

/** Says what the monitor says when a node's state changes. */
export async function notifyState(
  cluster: PostgresCluster,
  { name, host = "127.0.0.1", port, state, goal = state }: AutoFailoverNode,
): Promise<void> {
  const message = {
    type: "state",
    formation: "default",
    groupId: 0,
    nodeId: 1,
    name,
    host,
    port,
    reportedState: state,
    goalState: goal,
    health: "good",
  };
  await cluster.sql(cluster.primary, `SELECT pg_notify('state', '${JSON.stringify(message)}')`);
}
