import { CodedError } from "../../../base/index.ts";
import type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "../source.ts";
import { type DnsAnswer, DnsClient, type DnsClientDeps, type DnsRecord, plainName, type RecordType } from "./dns-client.ts";
import { Nameserver, type NameserverDeps } from "./nameserver.ts";

/** Replicas behind a DNS name. */
export interface DnsSourceOptions {
  /** Name or address of the nameserver; a name is looked up in the hosts file, then in the system's DNS. Default `localhost`. */
  readonly nameserver: string;
  /** Port of the nameserver. Default 8600, Consul's. */
  readonly port: number;
  /** The name to ask for, `replica.pg.service.consul`. */
  readonly record: string;
  /** `A` and `AAAA` give hosts on the primary's port, `SRV` gives ports as well. Default `A`. */
  readonly recordType: RecordType;
  /** Ask over TCP from the start; long answers come over TCP in any case. Default false. */
  readonly useTcp: boolean;
}

export const defaultDnsSourceOptions: Omit<DnsSourceOptions, "record"> = {
  nameserver: "localhost",
  port: 8600,
  recordType: "A",
  useTcp: false,
};

/** What the source works with. */
export interface DnsSourceDeps extends DnsClientDeps, NameserverDeps {
  /** Port of the servers, where DNS does not name one. */
  readonly serverPort: number;
}

interface Found {
  readonly server: DiscoveredServer;
  readonly ttlMs: number;
}

/** Targets of SRV records whose addresses are asked for at once. */
const maxTargets = 256;

/** Asks a nameserver of its own choice. Weights and priorities of SRV records are not used: servers are chosen by load. */
export class DnsSource implements DiscoverySource {
  readonly name = "dns";
  readonly #options: DnsSourceOptions;
  readonly #deps: DnsSourceDeps;
  readonly #client: DnsClient;
  readonly #nameserver: Nameserver;
  /** Addresses of the targets of the newest answer. */
  #targets: ReadonlyMap<string, string> = new Map();

  constructor(options: DnsSourceOptions, deps: DnsSourceDeps) {
    const record = typeof options.record === "string" ? plainName(options.record) : "";
    if (record.length > 253 || !record.split(".").every((label) => label.length >= 1 && Buffer.byteLength(label) <= 63)) {
      throw new CodedError("bad_config", "not a name that DNS could know", { key: "discovery.record" });
    }
    this.#options = options;
    this.#deps = deps;
    this.#client = new DnsClient(options, deps);
    this.#nameserver = new Nameserver(options.nameserver, deps);
  }

  async lookup(signal: AbortSignal): Promise<DiscoveryAnswer> {
    const at = { host: await this.#nameserver.address(signal), port: this.#options.port };
    try {
      const { record, recordType } = this.#options;
      const answer = await this.#client.query(record, recordType, at, signal);
      const found =
        recordType === "SRV"
          ? await this.#servers(answer, at, signal)
          : addressesOf(record, recordType, answer.answers).map(({ address, ttlMs }) => ({
              server: { host: address, port: this.#deps.serverPort },
              ttlMs,
            }));
      const ttls = found.map(({ ttlMs }) => ttlMs);
      return { servers: found.map(({ server }) => server), ...(ttls.length > 0 ? { ttlMs: Math.min(...ttls) } : {}) };
    } catch (error) {
      if (!CodedError.is(error, "not_found")) this.#nameserver.expire();
      throw error;
    }
  }

  async #servers(answer: DnsAnswer, at: { host: string; port: number }, signal: AbortSignal): Promise<Found[]> {
    const services = answer.answers.filter((record) => record.type === "SRV").slice(0, maxTargets);
    const names = [...new Set(services.map(({ data }) => plainName(data.target)))];
    const targets = new Map<string, string>();
    await Promise.all(
      names.map(async (name) => {
        const address = await this.#address(name, answer, at, signal);
        if (address !== undefined) targets.set(name, address);
      }),
    );
    this.#targets = targets;
    return services.flatMap(({ data, ttl = 0 }) => {
      const name = plainName(data.target);
      const host = targets.get(name);
      return host === undefined ? [] : [{ server: { host, port: data.port, name }, ttlMs: ttl * 1000 }];
    });
  }

  /** Address of an SRV record's target; undefined where it has none: the others are still good. */
  async #address(name: string, answer: DnsAnswer, at: { host: string; port: number }, signal: AbortSignal): Promise<string | undefined> {
    // A single dot is how a service says that it is not offered.
    if (name === "") return undefined;
    const types = ["A", "AAAA"] as const;
    const [given] = types.flatMap((type) => addressesOf(name, type, answer.additionals));
    if (given) return given.address;
    for (const type of types) {
      try {
        const { answers } = await this.#client.query(name, type, at, signal);
        const [first] = addressesOf(name, type, answers);
        if (first) return first.address;
      } catch (error) {
        if (CodedError.is(error, "not_found")) return undefined;
        if (signal.aborted) throw error;
        // That nobody can say where it is does not mean that it is gone.
        return this.#targets.get(name);
      }
    }
    return undefined;
  }
}

/** Addresses that `records` give `name`, also by way of aliases. */
function addressesOf(name: string, type: "A" | "AAAA", records: readonly DnsRecord[]): { address: string; ttlMs: number }[] {
  const names = new Set([plainName(name)]);
  // Aliases come in any order; each pass follows at least one more.
  for (let before = 0; before < names.size; ) {
    before = names.size;
    for (const record of records) {
      if (record.type === "CNAME" && names.has(plainName(record.name))) names.add(plainName(record.data));
    }
  }
  return records.flatMap((record) =>
    record.type === type && names.has(plainName(record.name)) ? [{ address: record.data, ttlMs: (record.ttl ?? 0) * 1000 }] : [],
  );
}
