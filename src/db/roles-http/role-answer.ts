import type { HostStatus } from "../hosts/host-status.ts";
import type { LagLimit, RoleQuestion } from "./role-question.ts";

/** When an answer is good enough to send writers to a server. */
export interface RoleEndpointOptions {
  /** A server's own word counts for this long. Default 10000 ms. */
  readonly maxCheckAgeMs: number;
  /**
   * Where discovery asks a failover monitor, its word counts for this long; after that no server is primary. Default Infinity: a
   * monitor that is away changes nothing, since it also decides nothing.
   */
  readonly maxDiscoveryAgeMs: number;
}

export const defaultRoleEndpointOptions: RoleEndpointOptions = { maxCheckAgeMs: 10_000, maxDiscoveryAgeMs: Number.POSITIVE_INFINITY };

/** What a load balancer knows of its servers. */
export interface RoleView {
  readonly status: readonly HostStatus[];
  /** Whether a source's word on who is primary is needed. */
  readonly discoveryBinds: boolean;
  readonly discoveryAgeMs: number | undefined;
}

/** 200: yes; 503: no; 404: no such server. */
export interface RoleAnswer {
  readonly status: 200 | 404 | 503;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers from what is known already; asks nobody. */
export function roleAnswer(question: RoleQuestion, view: RoleView, options: RoleEndpointOptions): RoleAnswer {
  const { server } = question;
  if (server === undefined) return anyServer(question, view, options);
  const status = view.status.find((one) => one.host.toLowerCase() === server);
  if (!status) return { status: 404, body: { server, reason: "unknown_server" } };
  return answer(status, reasonAgainst(question, status, view, options));
}

/** HOST:PORT of the server that is the primary beyond doubt; undefined where none is. */
export function primaryOf(view: RoleView, given: Partial<RoleEndpointOptions> = {}): string | undefined {
  const options = { ...defaultRoleEndpointOptions, ...given };
  return view.status.find((one) => againstPrimary(one, view, options) === "")?.host;
}

/** The server that is meant where none is named: of several, the one that lags least. */
function anyServer(question: RoleQuestion, view: RoleView, options: RoleEndpointOptions): RoleAnswer {
  const fit = view.status.filter((one) => reasonAgainst(question, one, view, options) === "");
  const replicasFirst = question.path === "/read-only" ? fit.filter(({ role }) => role !== "primary") : fit;
  const [best] = [...(replicasFirst.length > 0 ? replicasFirst : fit)].sort((a, b) => lagOf(a) - lagOf(b));
  if (best) return answer(best, "");
  return { status: 503, body: { server: null, reason: `no_${question.path.slice(1).replace("-", "_")}` } };
}

function lagOf({ lagBytes }: HostStatus): number {
  return lagBytes ?? Number.MAX_SAFE_INTEGER;
}

/** Why a server is not what is asked for; "" where it is. */
function reasonAgainst({ path, lag }: RoleQuestion, one: HostStatus, view: RoleView, options: RoleEndpointOptions): string {
  switch (path) {
    case "/health":
      return one.inRecovery === null ? one.reason || "no_answer" : "";
    case "/primary":
    case "/read-write":
      return againstPrimary(one, view, options);
    case "/replica":
      return againstReplica(one, lag);
    case "/read-only":
      return one.role === "primary" ? againstPrimary(one, view, options) : againstReplica(one, lag);
  }
}

/** Closed in doubt: two primaries cost more than none. */
function againstPrimary(one: HostStatus, view: RoleView, options: RoleEndpointOptions): string {
  if (one.inRecovery === null || one.checkedMsAgo === null) return one.reason || "no_answer";
  if (one.inRecovery) return "in_recovery";
  if (one.readOnly !== false) return "read_only";
  if (one.role !== "primary") return one.reason || "not_primary";
  if (one.checkedMsAgo > options.maxCheckAgeMs) return "not_checked";
  if (!view.discoveryBinds) return "";
  if (one.confirmedRole !== "primary") return "not_confirmed";
  return (view.discoveryAgeMs ?? 0) > options.maxDiscoveryAgeMs ? "discovery_stale" : "";
}

/** Open in doubt about others: what the server itself says is enough. */
function againstReplica(one: HostStatus, lag: LagLimit | undefined): string {
  if (one.role === "primary") return "primary";
  if (one.role === "none") return one.reason || "no_role";
  if (one.inRecovery === null) return one.reason || "no_answer";
  if (!lag) return one.usable ? "" : one.reason || "not_usable";
  if ("bytes" in lag) return one.lagBytes === null ? "lag_unknown" : one.lagBytes <= lag.bytes ? "" : "lag";
  // While nothing is written, nothing newer is replayed: who has everything is not late.
  if (one.lagBytes === 0) return "";
  return one.lagSeconds === null ? "lag_unknown" : one.lagSeconds * 1000 <= lag.ms ? "" : "lag";
}

function answer(one: HostStatus, reason: string): RoleAnswer {
  return {
    status: reason === "" ? 200 : 503,
    body: {
      server: one.host,
      role: one.role,
      reason,
      in_recovery: one.inRecovery,
      read_only: one.readOnly,
      timeline: one.timeline,
      position: one.position,
      lag_bytes: one.lagBytes,
      lag_seconds: one.lagSeconds,
      checked_ms_ago: one.checkedMsAgo === null ? null : Math.round(one.checkedMsAgo),
    },
  };
}
