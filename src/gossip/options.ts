import { CodedError } from "../base/index.ts";
import type { KeyRing } from "./key-ring.ts";

/** Timing and sizes of the protocol, as three sets of defaults have them. */
export interface GossipTuning {
  /** Time between two probes of this member. lan 1000, wan 5000, local 1000. */
  readonly probeIntervalMs: number;
  /** Time for a direct answer before others are asked, at most {@link probeIntervalMs}. lan 500, wan 3000, local 200. */
  readonly probeTimeoutMs: number;
  /** Members that are asked to probe one that does not answer. lan 3, wan 3, local 1. */
  readonly indirectChecks: number;
  /** Ping members over a stream as well when they do not answer datagrams. true. */
  readonly streamProbes: boolean;
  /** Hold a member for dead without a time of suspicion when its port refuses streams of two members. true. Needs {@link streamProbes}. */
  readonly crashProof: boolean;
  /** Suspicion lasts at least this many probe intervals (more in large clusters). lan 4, wan 6, local 3. */
  readonly suspicionMultiplier: number;
  /** Without confirmations it lasts this many times longer. 6. */
  readonly suspicionMaxMultiplier: number;
  /** Probes slow down by at most this factor while this process is unhealthy. 8. */
  readonly awarenessMaxMultiplier: number;
  /** Time between two rounds of gossip. lan 200, wan 500, local 100. */
  readonly gossipIntervalMs: number;
  /** Members that get gossip in each round. lan 3, wan 4, local 3. */
  readonly gossipNodes: number;
  /** The dead still get gossip for this time, and are forgotten after it. lan 30 000, wan 60 000, local 15 000. */
  readonly gossipToTheDeadMs: number;
  /** A message is sent this many times the decimal logarithm of the cluster's size. lan 4, wan 4, local 2. */
  readonly retransmitMultiplier: number;
  /** Time between two full exchanges of state with a random member. lan 30 000, wan 60 000, local 15 000. */
  readonly pushPullIntervalMs: number;
  /** Longest time for a stream: dialling, sending and receiving together. lan 10 000, wan 30 000, local 1000. */
  readonly streamTimeoutMs: number;
  /** Time between two attempts to reach members that are lost. lan 15 000, wan 30 000, local 5000. */
  readonly rejoinIntervalMs: number;
  /** How long a lost member is remembered for that. 72 hours. */
  readonly rejoinMemoryMs: number;
  /** Largest datagram that is sent, 1200 to 65 507. 1400. */
  readonly packetBytes: number;
  /** Compress what is sent where that helps. true. What is received is always understood. */
  readonly compress: boolean;
}

export type GossipPreset = "lan" | "wan" | "local";

const lan: GossipTuning = {
  probeIntervalMs: 1000,
  probeTimeoutMs: 500,
  indirectChecks: 3,
  streamProbes: true,
  crashProof: true,
  suspicionMultiplier: 4,
  suspicionMaxMultiplier: 6,
  awarenessMaxMultiplier: 8,
  gossipIntervalMs: 200,
  gossipNodes: 3,
  gossipToTheDeadMs: 30_000,
  retransmitMultiplier: 4,
  pushPullIntervalMs: 30_000,
  streamTimeoutMs: 10_000,
  rejoinIntervalMs: 15_000,
  rejoinMemoryMs: 72 * 3_600_000,
  packetBytes: 1400,
  compress: true,
};

/** The defaults: `lan` for one site, `wan` across sites, `local` for one machine. */
export const gossipPresets: Readonly<Record<GossipPreset, GossipTuning>> = {
  lan,
  wan: {
    ...lan,
    probeIntervalMs: 5000,
    probeTimeoutMs: 3000,
    suspicionMultiplier: 6,
    gossipIntervalMs: 500,
    gossipNodes: 4,
    gossipToTheDeadMs: 60_000,
    pushPullIntervalMs: 60_000,
    streamTimeoutMs: 30_000,
    rejoinIntervalMs: 30_000,
  },
  local: {
    ...lan,
    probeTimeoutMs: 200,
    indirectChecks: 1,
    suspicionMultiplier: 3,
    gossipIntervalMs: 100,
    gossipToTheDeadMs: 15_000,
    retransmitMultiplier: 2,
    pushPullIntervalMs: 15_000,
    streamTimeoutMs: 1000,
    rejoinIntervalMs: 5000,
  },
};

/** How one member runs. Each tuning value may be given to override the preset's; all are whole numbers, times below an hour or a day. */
export interface MemberOptions extends Partial<GossipTuning> {
  /** Identity in the cluster, 1 to 255 bytes of UTF-8. */
  readonly name: string;
  readonly bindHost: string;
  /** One number for UDP and TCP; 0 = any that is free for both. */
  readonly bindPort: number;
  /** What peers are told; a name is resolved once, at the start. Default: the bound address, or the first outside one for a wildcard. */
  readonly advertiseHost?: string | undefined;
  /** Default: the bound port. */
  readonly advertisePort?: number | undefined;
  /** What peers show for this member, at most 512 bytes. Default: empty. */
  readonly meta?: Uint8Array | undefined;
  /** Default "lan". */
  readonly preset?: GossipPreset | undefined;
  /** Members with another label are not heard. Default "" = none; at most 255 bytes. */
  readonly label?: string | undefined;
  /** Members without any label are heard as well. Default false. What this member sends has its label. */
  readonly acceptUnlabelled?: boolean | undefined;
  /** AES keys of 16, 24 or 32 bytes: the first encrypts, all decrypt. Default none = plaintext. The short form of {@link keyRing}. */
  readonly encryptionKeys?: readonly Uint8Array[] | undefined;
  /** The keys, where they are to change while the member runs. */
  readonly keyRing?: KeyRing | undefined;
  /** Refuse plaintext where there are keys. Default true. */
  readonly verifyIncoming?: boolean | undefined;
  /** Encrypt what is sent where there are keys. Default true. */
  readonly verifyOutgoing?: boolean | undefined;
  /** Protocol that is spoken, 1 to 5. Default 2. With 1 all members must use one port number. */
  readonly protocolVersion?: number | undefined;
  /** Versions of the application's own protocol: understood from, up to, and spoken, each up to 255. Default 0, 0, 0. */
  readonly delegateVersions?: readonly [min: number, max: number, current: number] | undefined;
  /** Networks as `10.0.0.0/8` or `fd00::/8`: who is not in one of them is neither heard nor taken as a member. Default: everyone is. */
  readonly allowedNetworks?: readonly string[] | undefined;
}

/** The preset with the overrides that are given. Errors: `invalid_argument` for a preset that there is not. */
export function tuningOf(options: MemberOptions): GossipTuning {
  const name = options.preset ?? "lan";
  if (!Object.hasOwn(gossipPresets, name)) throw new CodedError("invalid_argument", "there is no such gossip preset", { preset: name });
  const preset = gossipPresets[name];
  const given = Object.entries(options).filter(([key, value]) => key in preset && value !== undefined);
  return { ...preset, ...Object.fromEntries(given) };
}
