import type { DiscoveredServer } from "./source.ts";

/** A row of pg_auto_failover's table of nodes. */
export interface MonitorNode {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** What the monitor wants it to be. */
  readonly goalState: string;
  /** What the node last said it is. */
  readonly reportedState: string;
  /** 1 good, 0 bad, -1 not known. */
  readonly health: number;
}

const writable: ReadonlySet<string> = new Set(["primary", "wait_primary", "single"]);
const following: ReadonlySet<string> = new Set(["secondary", "catchingup"]);
/** Nodes that stay in one of these serve nobody. */
const absent: ReadonlySet<string> = new Set(["unknown", "init", "wait_standby", "demote_timeout", "demoted", "maintenance", "dropped"]);

/**
 * The servers among `nodes`. A role is told only where a node is what it is wanted to be, and a primary only while it is healthy: a
 * node that died goes on being called primary until the monitor has given up on it.
 */
export function serversOfNodes(nodes: readonly MonitorNode[]): DiscoveredServer[] {
  return nodes.flatMap(({ name, host, port, goalState, reportedState, health }) => {
    const settled = goalState === reportedState;
    if (settled && absent.has(goalState)) return [];
    const role = settled ? roleOf(goalState, health) : undefined;
    return [{ host, port, name, ...(role ? { role } : {}) }];
  });
}

function roleOf(state: string, health: number): DiscoveredServer["role"] {
  if (writable.has(state)) return health === 1 ? "primary" : undefined;
  return following.has(state) ? "replica" : undefined;
}

/** Longer notifications than PostgreSQL can send are not looked at. */
const maxPayloadChars = 8000;

/** Whether a notification says that a node of this group has arrived in a state, or that its health has changed. */
export function isSettledChange(
  payload: string,
  { formation, groupId }: { readonly formation: string; readonly groupId: number },
): boolean {
  if (payload.length > maxPayloadChars) return false;
  try {
    const message = JSON.parse(payload) as Record<string, unknown> | null;
    if (message?.["type"] !== "state" || message["formation"] !== formation || message["groupId"] !== groupId) return false;
    return typeof message["goalState"] === "string" && message["goalState"] === message["reportedState"];
  } catch {
    return false;
  }
}
