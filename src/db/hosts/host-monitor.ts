import { abortable, type Clock, linkSignals, type Random, sharedAbortController, startDeadline } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import type { Position } from "../position/position.ts";
import { type ErrorClass, errorClass } from "./error-class.ts";
import { Host, type HostOptions } from "./host.ts";
import { defaultHealthOptions, type HealthOptions, undecided } from "./host-health.ts";
import { HostList } from "./host-list.ts";
import { addFound, type FoundServer, type ListedServer } from "./listed-server.ts";
import type { MonitorLog } from "./monitor-log.ts";
import { defaultOutlierOptions, findOutliers, type OutlierOptions, outlierMinSamples } from "./outliers.ts";
import { Server } from "./server.ts";
import { writtenPosition } from "./server-facts.ts";
import { type ProbeOptions, ServerProbe } from "./server-probe.ts";
import { decideTopology, type Topology } from "./topology.ts";
import { defaultLagOptions, type KnownPrimary, type LagOptions, type LagSwitches } from "./verdict.ts";

/** How servers are watched. */
export interface HostMonitorOptions extends LagOptions, LagSwitches, HealthOptions, OutlierOptions, Omit<ProbeOptions, keyof HostOptions> {
  /** Servers are checked this often, up to a quarter later at random; at once where something looks wrong. Default 2000 ms. */
  readonly replicaCheckIntervalMs: number;
  /** Connections to a server that left the list, or changed its role, may finish what they do for this long. Default 120000 ms. */
  readonly disconnectTimeoutMs: number;
}

export const defaultHostMonitorOptions: HostMonitorOptions = {
  replicaCheckIntervalMs: 2000,
  probeTimeoutMs: 250,
  disconnectTimeoutMs: 120_000,
  useNewLoadBalancerQuery: true,
  ignoreReplicationLagTime: false,
  doubleReplicationLagTime: false,
  ...defaultLagOptions,
  ...defaultHealthOptions,
  ...defaultOutlierOptions,
};

/** What the monitor works with. */
export interface HostMonitorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly log: MonitorLog;
  /** Told when a server cannot be reached: the list may be out of date. */
  readonly onTrouble?: () => void;
}

// A storm of failures must not become a storm of checks.
const minGapMs = 100;
// What a load balancer waits for at most before its first use.
const firstCheckMs = 1000;
// Where writes have nowhere to go, a new primary is looked for more often, for this long.
const searchMs = 60_000;

/** Asks all servers in the background, decides who is what, and publishes it. Requests never wait here. */
export class HostMonitor implements AsyncDisposable {
  readonly hosts = new HostList();
  /** Resolves when every server has answered or failed once, or after a second. */
  readonly ready: Promise<void>;
  readonly #options: HostMonitorOptions & HostOptions;
  readonly #deps: HostMonitorDeps;
  readonly #configured: readonly ListedServer[];
  readonly #servers = new Map<string, Server>();
  readonly #stop = sharedAbortController();
  readonly #closing = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  #topology: Pick<Topology, "identity" | "primary" | "verified" | "conflict">;
  #primaryEnd: Position | undefined;
  #verifiedAtMs: number;
  #wake = sharedAbortController();

  constructor(servers: readonly ListedServer[], options: HostMonitorOptions & HostOptions, deps: HostMonitorDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#configured = servers;
    const hinted = servers.find((server) => server.hint === "primary")?.address.name;
    this.#topology = { identity: undefined, primary: hinted, verified: false, conflict: [] };
    this.#verifiedAtMs = deps.clock.monotonic();
    for (const listed of servers) this.#add(listed);
    this.#decide();
    const first = this.#round(options.connectTimeoutMs);
    const patience = deps.clock.sleep(firstCheckMs, this.#stop.signal).catch(() => {});
    this.ready = Promise.race([first, patience]);
    this.#loop = first.then(() => this.#run()).catch(() => {});
  }

  /** Every listed server as it is seen now, for status pages and metrics. */
  get servers(): readonly Server[] {
    return [...this.#servers.values()];
  }

  /** A request could not use this host. A replica is out at once; everything is checked anew. */
  reportFailure(host: Host, reason: string): void {
    const server = [...this.#servers.values()].find((one) => one.owns(host));
    if (!server) return;
    // The check's connection may be from before the certificate or the password was changed.
    if (reason === "config") server.probe.reconnect();
    if (host.role === "replica" && server.health.up) {
      server.takeOut(reason);
      this.#publish();
    }
    this.#deps.onTrouble?.();
    this.wake();
  }

  /** Checks everything at once instead of at the next interval. */
  wake(): void {
    this.#wake.abort();
  }

  /**
   * Takes a new answer of discovery: servers it does not name are let go, except the configured ones. Only what changed is
   * touched. Texts that are no addresses make it fail with `bad_config`, and nothing changes.
   */
  setFound(found: readonly FoundServer[], options: { authoritative: boolean }): void {
    const listed = new Map(addFound(this.#configured, found, options).map((server) => [server.address.name, server]));
    const removed = [...this.#servers.values()].filter((server) => !listed.has(server.name));
    let added = 0;
    for (const [name, server] of listed) {
      const known = this.#servers.get(name);
      if (known) known.listed = server;
      else {
        this.#add(server);
        added++;
      }
    }
    for (const server of removed) {
      this.#servers.delete(server.name);
      this.#later(server.probe[Symbol.asyncDispose]());
    }
    this.#decide();
    for (const server of removed) this.#letGo(server.dropHosts(new Set()));
    if (added > 0) this.wake();
  }

  /** Closes every connection; work that still runs is waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(servers.map((server) => server.probe[Symbol.asyncDispose]()));
    await Promise.all(servers.flatMap((server) => server.dropHosts(new Set())).map((host) => host.close()));
    await Promise.all(this.#closing);
  }

  #add(listed: ListedServer): void {
    const probe = new ServerProbe(listed.address, this.#options, this.#deps);
    const openHost = (role: "primary" | "replica", { address }: ListedServer) =>
      new Host(role, address, this.#options, { ...this.#deps, onRoleDoubt: () => this.wake() });
    this.#servers.set(listed.address.name, new Server(listed, this.#options, { clock: this.#deps.clock, probe, openHost }));
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#deps;
    const { replicaCheckIntervalMs, probeTimeoutMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const searching = clock.monotonic() - this.#verifiedAtMs < searchMs && !this.#topology.verified;
      const soon = searching || [...this.#servers.values()].some((server) => this.#isUndecided(server));
      const waitMs = soon ? Math.min(probeTimeoutMs, replicaCheckIntervalMs) : replicaCheckIntervalMs * (1 + random.float() / 4);
      using woken = linkSignals(signal, this.#wake.signal);
      await clock.sleep(Math.min(minGapMs, waitMs), signal);
      await clock.sleep(Math.max(0, waitMs - minGapMs), woken.signal).catch(() => {});
      if (signal.aborted) return;
      this.#wake = sharedAbortController();
      await this.#round(probeTimeoutMs);
    }
  }

  #isUndecided(server: Server): boolean {
    if (server.role.role === "none") return false;
    return undecided(server.health) || (server.misses > 0 && server.facts !== undefined);
  }

  /** Asks everyone at once. Whoever takes longer than a check may take is settled when it answers, and keeps nobody waiting. */
  async #round(patienceMs: number): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    const inTime: Server[] = [];
    let open = true;
    const asked = [...this.#servers.values()].filter((server) => !server.asking);
    const all = Promise.all(
      asked.map(async (server) => {
        await this.#ask(server, patienceMs, signal);
        if (open) inTime.push(server);
        else this.#settle([server]);
      }),
    );
    using patience = startDeadline(clock, Math.min(patienceMs, this.#options.probeTimeoutMs + minGapMs));
    await abortable(all, patience.signal).catch(() => {});
    open = false;
    this.#settle(inTime);
    // The first use waits for those that connect slowly, too.
    if (patienceMs > this.#options.probeTimeoutMs) await all;
  }

  async #ask(server: Server, patienceMs: number, signal: AbortSignal): Promise<void> {
    server.asking = true;
    const startedMs = this.#deps.clock.monotonic();
    try {
      // A single server has nothing to be compared with, and some services have no log to ask about.
      const facts = await server.probe.ask(this.#servers.size > 1 ? "full" : "role", patienceMs, signal);
      // The primary's name may lead elsewhere after a failover, while this connection still leads to the old one.
      if (server.listed.hint === "primary" && (facts.inRecovery || facts.readOnly)) server.probe.reconnect();
      server.answered(facts);
    } catch (error) {
      const kind = errorClass(error);
      // It has no connection to spare, or answers others meanwhile: it is there, and as good as before.
      const alive = kind === "overload" || (!isHard(kind) && server.answeredSince(startedMs, this.#options.probeTimeoutMs));
      if (alive && server.facts) return;
      server.missed(kind === "statement" ? "slow" : kind);
      if (!signal.aborted && server.misses === 1) {
        this.#deps.log.missed(server.name, error);
        this.#deps.onTrouble?.();
      }
    } finally {
      server.asking = false;
    }
  }

  #settle(asked: readonly Server[]): void {
    if (this.#stop.signal.aborted) return;
    const present = asked.filter((server) => this.#servers.get(server.name) === server);
    this.#topologyNow();
    for (const server of present) {
      server.judge(this.#knownPrimary, this.#options);
      server.giveUpIfSilent(this.#options.connectTimeoutMs);
    }
    this.#ejectOutliers();
    this.#publish();
  }

  #decide(): void {
    this.#topologyNow();
    this.#publish();
  }

  #topologyNow(): void {
    const candidates = [...this.#servers.values()].map((server) => server.candidate);
    const decided = decideTopology(candidates, this.#topology);
    for (const server of this.#servers.values()) {
      const role = decided.roles.get(server.name);
      if (role) server.assume(role);
    }
    this.#deps.log.topology(decided);
    this.#topology = decided;
    if (decided.verified) this.#verifiedAtMs = this.#deps.clock.monotonic();
    const facts = decided.primary === undefined ? undefined : this.#servers.get(decided.primary)?.facts;
    const end = facts ? writtenPosition(facts) : this.#cascadingEnd();
    if (end) this.#primaryEnd = end;
  }

  /** Where no primary is in sight at all, a standby that feeds the others is what they can be compared with. */
  #cascadingEnd(): Position | undefined {
    if (this.#topology.identity) return undefined;
    const facts = [...this.#servers.values()].find(({ listed, facts }) => listed.hint === "primary" && facts?.inRecovery)?.facts;
    if (facts?.writeLsn === undefined || facts.systemId === "") return undefined;
    return { systemId: facts.systemId, timeline: facts.timeline, lsn: facts.writeLsn };
  }

  get #knownPrimary(): KnownPrimary {
    const server = this.#topology.primary === undefined ? undefined : this.#servers.get(this.#topology.primary);
    return { position: this.#primaryEnd, answers: server?.facts !== undefined && server.misses === 0 };
  }

  #ejectOutliers(): void {
    const nowMs = this.#deps.clock.monotonic();
    const up = [...this.#servers.values()].filter((server) => server.role.role === "replica" && server.health.up);
    if (up.length < 2) return;
    const sampled = up.map((server) => ({
      name: server.name,
      p99Ms: server.host("replica").latency.p99(nowMs, outlierMinSamples),
      ejected: server.isEjected(nowMs),
    }));
    for (const name of findOutliers(sampled, this.#options)) this.#servers.get(name)?.eject(this.#options.outlierEjectionMs);
  }

  #publish(): void {
    const known = this.#knownPrimary;
    const { primary: name, conflict } = this.#topology;
    const primary = name === undefined ? undefined : this.#servers.get(name);
    const replicas = [...this.#servers.values()].flatMap((server) => server.replicaState(known) ?? []);
    const snapshot = {
      primary: primary && { host: primary.host("primary"), position: known.position },
      withoutPrimary: primary ? "" : conflict.length > 0 ? "two_primaries" : "no_primary",
      replicas,
    };
    this.#deps.log.replicas(replicas);
    this.hosts.publish(snapshot);
    const used = new Set([...(snapshot.primary ? [snapshot.primary.host] : []), ...replicas.map((one) => one.host)]);
    for (const server of this.#servers.values()) this.#letGo(server.dropHosts(used), primary !== undefined && primary !== server);
  }

  /** `succeeded`: another server is primary now, so that what still runs as a write on these would be lost. */
  #letGo(hosts: readonly Host[], succeeded = false): void {
    for (const host of hosts) {
      const patienceMs = succeeded && host.role === "primary" ? 0 : this.#options.disconnectTimeoutMs;
      const startedMs = this.#deps.clock.monotonic();
      this.#later(
        host.drain(patienceMs, this.#stop.signal).then((how) => {
          this.#deps.log.disconnected(host.name, how, this.#deps.clock.monotonic() - startedMs);
        }),
      );
    }
  }

  #later(work: Promise<void>): void {
    const closing = work.catch(() => {}).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** Whether a failure says for certain that the server cannot be asked. */
function isHard(kind: ErrorClass): boolean {
  return kind === "connect_failed" || kind === "lost" || kind === "config";
}
