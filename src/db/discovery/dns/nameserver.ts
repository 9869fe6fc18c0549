import { promises as dns } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { abortable, type Clock, CodedError, startDeadline } from "../../../base/index.ts";
import { sameName } from "./dns-client.ts";

/** What resolving a nameserver's name works with; files and network default to this machine's. */
export interface NameserverDeps {
  readonly clock: Clock;
  /** The text of the hosts file. */
  readonly readHosts?: () => Promise<string>;
  /** Addresses of a name as the system's own resolver knows them; `ttlMs` where it says how long they hold. */
  readonly resolveName?: (name: string, signal: AbortSignal) => Promise<{ address: string; ttlMs?: number }>;
}

const defaultTtlMs = 30_000;
/** Where an address is known, the system's DNS has this long to give a newer one; the rest of the lookup's time is the nameserver's. */
const renewalMs = 500;

/** The address of the nameserver to ask: as given, from the hosts file, or from the system's DNS for as long as that holds. */
export class Nameserver {
  readonly #name: string;
  readonly #deps: NameserverDeps;
  #known: { readonly address: string; readonly untilMs: number } | undefined;

  constructor(name: string, deps: NameserverDeps) {
    this.#name = name;
    this.#deps = deps;
  }

  /** Errors: the signal's reason; `not_found`, unless an address is known from before, which is better than none. */
  async address(signal: AbortSignal): Promise<string> {
    if (isIP(this.#name)) return this.#name;
    const now = this.#deps.clock.monotonic();
    if (this.#known && now < this.#known.untilMs) return this.#known.address;
    const { readHosts = () => readFile("/etc/hosts", "utf8"), resolveName = resolveWithSystem } = this.#deps;
    const listed = addressInHosts(await readHosts().catch(() => ""), this.#name);
    // The file may change, and reading it again costs nothing.
    if (listed) return listed;
    if (sameName(this.#name, "localhost")) return "127.0.0.1";
    try {
      using patience = this.#known ? startDeadline(this.#deps.clock, renewalMs, signal) : undefined;
      const given = patience?.signal ?? signal;
      const { address, ttlMs = defaultTtlMs } = await abortable(resolveName(this.#name, given), given);
      this.#known = { address, untilMs: now + ttlMs };
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#known) throw new CodedError("not_found", "the nameserver has no address", { nameserver: this.#name }, { cause: error });
    }
    return (this.#known as { address: string }).address;
  }

  /** Forgets an address that may be out of date. */
  expire(): void {
    if (this.#known) this.#known = { ...this.#known, untilMs: Number.NEGATIVE_INFINITY };
  }
}

/** The first address that a hosts file gives `name`. */
export function addressInHosts(file: string, name: string): string | undefined {
  for (const line of file.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (isIP(address) && names.some((known) => sameName(known, name))) return address;
  }
  return undefined;
}

async function resolveWithSystem(name: string, signal: AbortSignal): Promise<{ address: string; ttlMs?: number }> {
  const resolver = new dns.Resolver();
  const onAbort = () => resolver.cancel();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const [first] = await resolver.resolve4(name, { ttl: true }).catch(() => {
      signal.throwIfAborted();
      return resolver.resolve6(name, { ttl: true });
    });
    if (!first) throw new CodedError("not_found", "there is no such name in DNS", { name });
    return { address: first.address, ttlMs: first.ttl * 1000 };
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
