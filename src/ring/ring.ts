import { CodedError, compareUtf8 } from "../base/index.ts";
import { claimTable, inputAddress, isShort, memoryBytes, tableAddress, wasm, writeShort } from "./wasm-memory.ts";
import { xxh3 } from "./xxh3.ts";

/** Version of the hash and the score; part of the fingerprint, so that nodes that compute differently see it. */
export const ringHashVersion = 1;

/** A node that may own keys. */
export interface Site {
  readonly name: string;
  /** Share of keys relative to the other sites; not a site where it is <= 0, NaN or infinite. */
  readonly weight: number;
}

export interface RingOptions {
  /** k: how many sites own one key. Default 1. */
  readonly replicas?: number;
  /** 64-bit seed of the hash. Default 0. */
  readonly seed?: bigint;
}

/** A site with the numbers that placed it. */
export interface ScoredSite extends Site {
  readonly siteHash: bigint;
  /** -ln(u) / weight; the smallest own the key. */
  readonly cost: number;
}

const bytesPerSite = 16;

/**
 * Weighted rendezvous hashing over a fixed set of sites: every node with the same sites, seed and k gives the same owners
 * to a key, bit for bit. Immutable. Errors of the constructor: `invalid_argument` for one name with two weights, for a k
 * outside of 1 to 2^32-1 and for a seed outside of 64 bits.
 */
export class Ring {
  readonly replicas: number;
  readonly seed: bigint;
  /** Sorted by the bytes of their names. */
  readonly sites: readonly Site[];
  /** 16 hexadecimal digits over hash version, seed, k and sites. */
  readonly fingerprint: string;
  readonly #table: Uint8Array;

  /** `deps.hash` is replaced only to provoke ties. */
  constructor(sites: Iterable<Site>, options: RingOptions = {}, deps: { readonly hash: typeof xxh3 } = { hash: xxh3 }) {
    this.replicas = options.replicas ?? 1;
    this.seed = options.seed ?? 0n;
    if (!Number.isInteger(this.replicas) || this.replicas < 1 || this.replicas > 0xffffffff) {
      throw new CodedError("invalid_argument", "replicas must be a positive integer of 32 bits", { replicas: this.replicas });
    }
    if (this.seed < 0n || this.seed >= 1n << 64n)
      throw new CodedError("invalid_argument", "seed must fit 64 bits", { seed: String(this.seed) });
    this.sites = distinctSites(sites);
    this.#table = new Uint8Array(this.sites.length * bytesPerSite);
    const table = new DataView(this.#table.buffer);
    this.sites.forEach((site, i) => {
      table.setBigUint64(i * bytesPerSite, deps.hash(site.name, this.seed), true);
      table.setFloat64(i * bytesPerSite + 8, site.weight, true);
    });
    this.fingerprint = fingerprintOf(this);
  }

  /** The min(k, sites) owners of a key, in order. `key`: the repository hash input as bytes, or as a string read as UTF-8. */
  owners(key: Uint8Array | string, replicas = this.replicas): Site[] {
    const count = this.sites.length;
    const k = Math.min(replicas, count);
    if (!(k >= 1)) return [];
    const topAddress = tableAddress + count * bytesPerSite;
    const costsAddress = topAddress + (count + (count % 2)) * 4;
    if (!isShort(key)) throw new CodedError("limit_exceeded", "a key is at most 2730 characters", { length: key.length });
    const memory = memoryBytes(costsAddress + count * 8);
    if (!claimTable(this)) memory.set(this.#table, tableAddress);
    wasm.owners(inputAddress, writeShort(key), this.seed, tableAddress, count, topAddress, costsAddress, k);
    if (k === 1) return [this.sites[readIndex(memory, topAddress)] as Site];
    return Array.from({ length: k }, (_, i) => this.sites[readIndex(memory, topAddress + i * 4)] as Site);
  }

  /** As `owners`, with the numbers behind the order; for people. */
  explain(key: Uint8Array | string, replicas = this.replicas): { keyHash: bigint; owners: ScoredSite[] } {
    const keyHash = xxh3(key, this.seed);
    const owners = this.owners(key, replicas).map((site) => {
      const siteHash = xxh3(site.name, this.seed);
      return { ...site, siteHash, cost: wasm.cost(keyHash, siteHash, this.seed, site.weight) };
    });
    return { keyHash, owners };
  }
}

function readIndex(memory: Uint8Array, address: number): number {
  return (memory[address] as number) | ((memory[address + 1] as number) << 8) | ((memory[address + 2] as number) << 16);
}

function distinctSites(sites: Iterable<Site>): Site[] {
  const byName = new Map<string, Site>();
  for (const { name, weight } of sites) {
    if (!(weight > 0 && Number.isFinite(weight))) continue;
    const known = byName.get(name);
    if (known && known.weight !== weight) throw new CodedError("invalid_argument", "one site has two weights", { site: name });
    byName.set(name, Object.freeze({ name, weight }));
  }
  return [...byName.values()].sort((a, b) => compareUtf8(a.name, b.name));
}

/** LE: u32 hash version, u64 seed, u32 k, then per site u32 name length, name bytes, f64 weight; hashed with seed 0. */
function fingerprintOf(ring: Ring): string {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(ringHashVersion, 0);
  head.writeBigUInt64LE(ring.seed, 4);
  head.writeUInt32LE(ring.replicas, 12);
  const parts = ring.sites.flatMap(({ name, weight }) => {
    const bytes = Buffer.from(name);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    const share = Buffer.alloc(8);
    share.writeDoubleLE(weight);
    return [length, bytes, share];
  });
  return xxh3(Buffer.concat([head, ...parts]))
    .toString(16)
    .padStart(16, "0");
}
