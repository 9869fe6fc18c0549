import type { DiscoveredServer, DiscoverySource } from "./source.ts";

/** A list that never changes. */
export class StaticSource implements DiscoverySource {
  readonly name = "static";
  readonly #servers: readonly DiscoveredServer[];

  constructor(servers: readonly DiscoveredServer[]) {
    this.#servers = [...servers];
  }

  async lookup(signal: AbortSignal): Promise<{ servers: readonly DiscoveredServer[] }> {
    signal.throwIfAborted();
    return { servers: this.#servers };
  }
}
