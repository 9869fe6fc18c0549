import { type Clock, type Random, sharedAbortController, startDeadline } from "../../base/index.ts";
import type { Logger } from "../../observability/index.ts";
import type { Host } from "./host.ts";
import type { HostList } from "./host-list.ts";

/** How replicas that failed are watched. */
export interface HostMonitorOptions {
  /** An unusable replica is tried again after this, up to a half more at random. Default 1000 ms. */
  readonly recheckIntervalMs: number;
  /** A replica that does not answer a probe within this stays out. Default 1000 ms. */
  readonly probeTimeoutMs: number;
}

export const defaultHostMonitorOptions: HostMonitorOptions = { recheckIntervalMs: 1000, probeTimeoutMs: 1000 };

/** What the monitor works with. */
export interface HostMonitorDeps {
  readonly hosts: HostList;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Takes a replica out when a request reports it, and brings it back when it answers. Requests never wait here. */
export class HostMonitor implements AsyncDisposable {
  readonly #options: HostMonitorOptions;
  readonly #deps: HostMonitorDeps;
  readonly #stop = sharedAbortController();
  readonly #loop: Promise<void>;

  constructor(options: HostMonitorOptions, deps: HostMonitorDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#loop = this.#run(this.#stop.signal).catch(() => {});
  }

  /** A request could not use this replica. */
  reportFailure(host: Host, reason: string): void {
    const state = this.#deps.hosts.snapshot.replicas.find((replica) => replica.host === host);
    if (!state?.usable) return;
    this.#deps.hosts.judge(host, { usable: false, reason });
    this.#deps.logger.warn("replica taken out", { event: "host_offline", host: host.name, reason });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { recheckIntervalMs } = this.#options;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(recheckIntervalMs + this.#deps.random.int(recheckIntervalMs / 2 + 1), signal);
      const out = this.#deps.hosts.snapshot.replicas.filter((state) => !state.usable);
      await Promise.all(out.map((state) => this.#probe(state.host, signal)));
    }
  }

  async #probe(host: Host, signal: AbortSignal): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, this.#options.probeTimeoutMs, signal);
    try {
      await host.query("SELECT 1", undefined, { discard: false }, deadline.signal);
    } catch (error) {
      if (!signal.aborted) this.#deps.logger.debug("replica still out", { host: host.name, error });
      return;
    }
    this.#deps.hosts.judge(host, { usable: true, reason: "" });
    this.#deps.logger.info("replica back", { event: "host_online", host: host.name });
  }
}
