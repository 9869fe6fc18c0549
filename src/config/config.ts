import type { DiscoveryOptions, GivenLoadBalancerOptions, RoleEndpointOptions, SwitchSettings } from "../db/index.ts";

/** Where a listener binds. */
export interface ListenAddress {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** Given by flag, environment or file: a port that is taken is then an error. */
  readonly explicit: boolean;
}

/** A peer to join through. */
export interface JoinAddress {
  readonly scheme: "grpc" | "grpcs" | "gossip";
  readonly host: string;
  readonly port: number;
  /** As the operator wrote it. */
  readonly text: string;
}

/** The load balancer's options but for those that say where the servers are and who else is there. */
type BalancerOptions = Omit<GivenLoadBalancerOptions, "primary" | "replicas" | "discovery" | "name" | "processRole" | "switches"> & {
  readonly switches: SwitchSettings;
};

/** Everything `gitaly serve` can be told, merged from file, environment and flags. Frozen. */
export interface Config {
  readonly nodeName: string | undefined;
  /** Undefined: the default place, or the first free one beside it. */
  readonly dataDir: string | undefined;
  readonly grpc: ListenAddress;
  readonly http: ListenAddress;
  readonly gossip: ListenAddress;
  readonly prometheus: ListenAddress | undefined;
  /** Host that peers and clients are told; undefined: the host the listener is bound to. */
  readonly advertiseHost: string | undefined;
  /** URL that stock git is redirected to; undefined: made from the HTTP listener. */
  readonly advertiseHttp: string | undefined;
  readonly joinAddrs: readonly JoinAddress[];
  readonly readyFile: string | undefined;
  readonly insecure: boolean;
  readonly cluster: {
    /** Undefined: what the cluster uses, 1 for a first node. */
    readonly replicas: number | undefined;
    readonly weight: number;
    readonly zone: string;
    /** Undefined: what the cluster uses, 0 for a first node. */
    readonly hashSeed: bigint | undefined;
    readonly label: string;
    /** Base64. The first encrypts gossip, all decrypt; none: plaintext. */
    readonly encryptionKeys: readonly string[];
    readonly encryption: "required" | "preferred" | "accepted";
    readonly requireId: boolean;
    readonly gossipPreset: "lan" | "wan" | "local";
    readonly suspicionMultiplier: number | undefined;
    readonly suspicionMaxMultiplier: number | undefined;
    readonly probeIntervalMs: number | undefined;
    readonly probeTimeoutMs: number | undefined;
  };
  readonly objectStorage: {
    /** `file:///DIR` or `s3://BUCKET/PREFIX?…`; undefined: embedded below the data directory. */
    readonly url: string | undefined;
  };
  readonly database: {
    /** Primary; undefined: embedded. */
    readonly url: string | undefined;
    readonly replicas: readonly string[];
    /** Undefined: all servers are listed above. */
    readonly discovery: DiscoveryOptions | undefined;
    /** What the load balancer is told beside where its servers are. */
    readonly balancer: BalancerOptions;
    readonly sticking: {
      readonly store: "memory" | "redis" | "token";
      readonly redisUrl: string | undefined;
      /** The first signs positions, all are believed; undefined: one is derived from the cluster's id. */
      readonly secrets: readonly string[] | undefined;
    };
    /** The limits of reads that fall back to the primary are of all nodes together. */
    readonly fleetWide: boolean;
    readonly roleEndpoints: RoleEndpointOptions;
  };
  /** 0: the catalog is never compared with the store. */
  readonly catalog: { readonly reconcileIntervalMs: number };
  readonly cache: {
    /** Undefined: `<data dir>/cache`. */
    readonly dir: string | undefined;
    readonly maxBytes: number;
    readonly minFreeBytes: number;
  };
  readonly git: { readonly binPath: string };
  readonly routing: { readonly unawareClients: "serve" | "refuse"; readonly http: "redirect" | "relay" };
  readonly logging: { readonly level: "debug" | "info" | "warn" | "error"; readonly dir: string | undefined };
  readonly drainLingerMs: number;
  readonly gracefulRestartTimeoutMs: number;
}
