import type { Counter, Logger, Metrics } from "../../observability/index.ts";
import type { ReplicaState } from "./host-list.ts";
import type { Topology } from "./topology.ts";

/** Says what changed among the servers, once per change, in log lines and counters. */
export class MonitorLog {
  readonly #logger: Logger;
  readonly #changes: Counter;
  readonly #usable = new Map<string, boolean>();
  #primary: string | undefined;
  #verified = false;
  #conflict = "";
  #doubts = "";

  constructor(deps: { logger: Logger; metrics: Metrics }) {
    this.#logger = deps.logger;
    this.#changes = deps.metrics.counter("dblb_role_changes_total", "Decisions about who is primary that changed, by kind", ["kind"]);
  }

  /** A server missed a check after it had answered. */
  missed(host: string, error: unknown): void {
    this.#logger.debug("database server does not answer its check", { host, error });
  }

  topology({ primary, verified, conflict, roles, identity }: Topology): void {
    if (verified && (primary !== this.#primary || !this.#verified)) {
      this.#say("primary_changed", "info", "primary found", { host: primary, before: this.#primary, timeline: identity?.timeline });
    } else if (primary === undefined && this.#primary !== undefined) {
      this.#say("primary_lost", "warn", "no database server is primary: writes are refused", { before: this.#primary });
    }
    const names = conflict.join(" ");
    if (names !== "" && names !== this.#conflict) {
      this.#say("two_primaries", "error", "several database servers accept writes: none of them is written to", { hosts: conflict });
    }
    const doubts = [...roles].filter(([, { role }]) => role === "none").map(([host, { reason }]) => ({ host, reason }));
    const key = JSON.stringify(doubts);
    if (doubts.length > 0 && key !== this.#doubts) {
      this.#say("role_confusion", "warn", "database servers that fit no role are left out", { hosts: doubts });
    }
    this.#primary = primary;
    this.#verified = verified || (this.#verified && primary !== undefined);
    this.#conflict = names;
    this.#doubts = key;
  }

  replicas(states: readonly ReplicaState[]): void {
    for (const { host, usable, reason, lagMs, lagBytes } of states) {
      const before = this.#usable.get(host.name);
      this.#usable.set(host.name, usable);
      if (usable === before || (reason === "not_checked" && !usable)) continue;
      const fields = { host: host.name, reason, lagMs, lagBytes };
      if (usable) this.#logger.info("replica in use", { event: "host_online", ...fields });
      else this.#logger.warn("replica taken out", { event: "host_offline", ...fields });
    }
    const names = new Set(states.map((state) => state.host.name));
    for (const name of this.#usable.keys()) if (!names.has(name)) this.#usable.delete(name);
  }

  disconnected(host: string, how: "gentle" | "forced", durationMs: number): void {
    this.#logger.info("connections to a former database server closed", { event: "host_list_disconnection", host, how, durationMs });
  }

  #say(kind: string, level: "info" | "warn" | "error", message: string, fields: Record<string, unknown>): void {
    this.#changes.add(1, { kind });
    this.#logger[level](message, { event: kind, ...fields });
  }
}
