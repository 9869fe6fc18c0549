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

export interface Owner extends Site {
  /** -ln(u) / weight. */
  readonly cost: number;
}

/** Weighted rendezvous hashing over a fixed set of sites. Immutable. */
export declare class Ring {
  readonly replicas: number;
  readonly seed: bigint;
  /** Sorted by name. */
  readonly sites: readonly Site[];
  /** 16 hexadecimal digits over hash version, seed, k and sites. */
  readonly fingerprint: string;
  constructor(sites: Iterable<Site>, options?: RingOptions);
  /** The owners in order. `key` is the repository hash input: bytes, or a string read as UTF-8. */
  owners(key: Uint8Array | string, replicas?: number): Site[];
  /** As `owners`, with the numbers behind the order. */
  explain(key: Uint8Array | string, replicas?: number): { keyHash: bigint; owners: (Owner & { siteHash: bigint })[] };
}
