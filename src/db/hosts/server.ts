import type { Clock } from "../../base/index.ts";
import type { Host } from "./host.ts";
import { failed, type HealthOptions, type HostHealth, passed, takenOut, untried, weightOf } from "./host-health.ts";
import type { ReplicaState } from "./host-list.ts";
import type { ListedServer } from "./listed-server.ts";
import { reachedPosition, type ServerFacts } from "./server-facts.ts";
import type { ServerProbe } from "./server-probe.ts";
import type { Candidate, RoleVerdict } from "./topology.ts";
import { judge, type KnownPrimary, type LagOptions, type LagSwitches, type Verdict } from "./verdict.ts";

const maxEjectionFactor = 10;

/** What a server works with. */
export interface ServerDeps {
  readonly clock: Clock;
  readonly probe: ServerProbe;
  readonly openHost: (role: "primary" | "replica", listed: ListedServer) => Host;
}

/** Everything remembered of one listed server, whatever its role. Only the monitor changes it. */
export class Server {
  listed: ListedServer;
  readonly probe: ServerProbe;
  /** The newest answer; undefined where it has not answered for several checks. */
  facts: ServerFacts | undefined;
  /** Checks in a row without an answer, and why the last one had none. */
  misses = 0;
  missReason = "";
  /** A check is under way. */
  asking = false;
  health: HostHealth = untried;
  readonly #deps: ServerDeps;
  readonly #options: HealthOptions;
  readonly #hosts = new Map<"primary" | "replica", Host>();
  #role: RoleVerdict = { role: "replica", reason: "" };
  #verdict: Verdict | undefined;
  #ejections = 0;
  #ejectedUntilMs: number | undefined;
  /** When the first of the misses in a row was. */
  #missedAtMs = 0;

  constructor(listed: ListedServer, options: HealthOptions, deps: ServerDeps) {
    this.listed = listed;
    this.#options = options;
    this.#deps = deps;
    this.probe = deps.probe;
  }

  get name(): string {
    return this.listed.address.name;
  }

  get candidate(): Candidate {
    const { hint, verdict, mayWrite } = this.listed;
    return { name: this.name, hint, verdict, mayWrite, facts: this.facts, missed: this.misses > 0 };
  }

  get role(): RoleVerdict {
    return this.#role;
  }

  /** A server that becomes a replica must show itself to be a good one first. */
  assume(role: RoleVerdict): void {
    if (role.role !== this.#role.role) {
      this.#verdict = undefined;
      if (this.health.up && role.role === "replica") this.health = takenOut(this.health, "role_changed");
    }
    this.#role = role;
  }

  /** Its connections for a role, opened when they are first needed. */
  host(role: "primary" | "replica"): Host {
    let host = this.#hosts.get(role);
    if (!host) {
      host = this.#deps.openHost(role, this.listed);
      host.originsReadable = this.facts?.originLsn !== undefined;
      this.#hosts.set(role, host);
    }
    return host;
  }

  /** Whether requests got quick answers from it since then. */
  answeredSince(sinceMs: number, withinMs: number): boolean {
    return [...this.#hosts.values()].some((host) => host.latency.answeredSince(sinceMs, withinMs));
  }

  owns(host: Host): boolean {
    return this.#hosts.get(host.role) === host;
  }

  /** Lets go of every host that is not in `used`, and returns them. */
  dropHosts(used: ReadonlySet<Host>): readonly Host[] {
    const dropped = [...this.#hosts.values()].filter((host) => !used.has(host));
    for (const host of dropped) this.#hosts.delete(host.role);
    return dropped;
  }

  answered(facts: ServerFacts): void {
    this.facts = facts;
    this.misses = 0;
    const replica = this.#hosts.get("replica");
    if (replica) replica.originsReadable = facts.originLsn !== undefined;
  }

  missed(reason: string): void {
    if (this.misses++ === 0) this.#missedAtMs = this.#deps.clock.monotonic();
    this.missReason = reason;
    if (this.misses >= this.#options.checksDown) this.facts = undefined;
  }

  /**
   * Reads wait for a replica that has said nothing for `ms`, not even that it takes no connections: they are told that it is lost, so
   * that they go elsewhere. Otherwise they would wait for as long as a statement may take.
   */
  giveUpIfSilent(ms: number): void {
    const silent = !this.facts && this.missReason === "slow" && this.#deps.clock.monotonic() - this.#missedAtMs >= ms;
    if (silent) this.#hosts.get("replica")?.cut();
  }

  /** Takes the newest check into account, once per check. */
  judge(primary: KnownPrimary, limits: LagOptions & LagSwitches): void {
    if (this.role.role === "none") this.health = takenOut(this.health, this.role.reason);
    else if (this.misses > 0 || !this.facts) this.health = failed(this.health, this.missReason, this.#options);
    else if (this.role.role === "primary") this.health = passed(this.health, this.#deps.clock.monotonic(), this.#options);
    else {
      this.#verdict = judge(this.facts, primary, this.#verdict, limits);
      this.health = this.#verdict.usable
        ? passed(this.health, this.#deps.clock.monotonic(), this.#options)
        : failed(this.health, this.#verdict.reason, this.#options);
    }
  }

  /** A request could not use it. */
  takeOut(reason: string): void {
    this.health = takenOut(this.health, reason);
  }

  /** Leaves it out of reads for `ms`, doubled each time in a row. */
  eject(ms: number): void {
    const nowMs = this.#deps.clock.monotonic();
    const calm = this.#ejectedUntilMs === undefined || nowMs > this.#ejectedUntilMs + maxEjectionFactor * ms;
    this.#ejections = calm ? 1 : this.#ejections + 1;
    this.#ejectedUntilMs = nowMs + ms * Math.min(maxEjectionFactor, 2 ** (this.#ejections - 1));
    this.health = { ...this.health, backSinceMs: this.#ejectedUntilMs };
    this.host("replica").latency.clear();
  }

  isEjected(nowMs: number): boolean {
    return this.#ejectedUntilMs !== undefined && nowMs < this.#ejectedUntilMs;
  }

  /** Its entry among those that serve reads; undefined where it does not belong there. */
  replicaState(primary: KnownPrimary): ReplicaState | undefined {
    const { reads } = this.listed;
    if (reads === "never" || (this.role.role === "primary" && reads !== "always")) return undefined;
    const nowMs = this.#deps.clock.monotonic();
    const ejected = this.isEjected(nowMs);
    const none = this.role.role === "none";
    const usable = this.health.up && !ejected && !none;
    const verdict = this.role.role === "replica" ? this.#verdict : undefined;
    return {
      host: this.host("replica"),
      usable,
      reason: usable ? (verdict?.stale ? "stale_verdict" : "") : none ? this.role.reason : ejected ? "outlier" : this.health.reason,
      weight: weightOf(this.health, nowMs, this.#options),
      reached: this.facts && reachedPosition(this.facts, primary.position),
      lagBytes: verdict?.lagBytes,
      lagMs: verdict?.lagMs,
    };
  }
}
