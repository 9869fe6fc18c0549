import { type Clock, CodedError, neverAborted, type Random, systemClock, systemRandom } from "../base/index.ts";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../observability/index.ts";
import { bytesToIp, checkPort, ipToBytes } from "./address.ts";
import { checkTuning } from "./check-tuning.ts";
import { type ClusterGuard, openClusterGuard } from "./cluster-guard.ts";
import type { Envelope } from "./codec/envelope.ts";
import { maxLabelBytes } from "./codec/label.ts";
import { GossipMember } from "./gossip-member.ts";
import type { MemberHooks } from "./hooks.ts";
import { createKeyRing } from "./key-ring.ts";
import type { Member } from "./member.ts";
import { createNetworkFilter } from "./network-filter.ts";
import { type MemberOptions, tuningOf } from "./options.ts";
import type { TransportFactory } from "./transport.ts";
import { bindUdpTcp } from "./udp-tcp-transport.ts";
import { versionVector } from "./versions.ts";
import { checkMeta, checkName } from "./wire-checks.ts";

/** What a member works with; each may be left out. */
export interface MemberDeps {
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Default: the system's. */
  readonly random?: Random | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
  /** Default: counts nothing. */
  readonly metrics?: Metrics | undefined;
  /** Default: UDP and TCP of this host. */
  readonly transport?: TransportFactory | undefined;
  /** Default: takes everyone. */
  readonly guard?: ClusterGuard | undefined;
  /** Default: none. */
  readonly hooks?: MemberHooks | undefined;
}

/**
 * Binds the listeners and starts a member that is alone until it joins or is joined.
 *
 * Errors: `invalid_argument`, `limit_exceeded`, and the platform's where the address cannot be bound.
 */
export async function createMember(options: MemberOptions, deps: MemberDeps = {}): Promise<Member> {
  const meta = Uint8Array.from(options.meta ?? []);
  checkName(options.name);
  checkMeta(meta);
  const envelope = envelopeOf(options);
  const versions = versionVector(options.protocolVersion ?? 2, options.delegateVersions ?? [0, 0, 0]);
  const tuning = tuningOf(options);
  checkTuning(tuning);
  const isAllowed = options.allowedNetworks ? createNetworkFilter(options.allowedNetworks) : () => true;
  const {
    clock = systemClock,
    random = systemRandom,
    logger = silentLogger,
    metrics = noMetrics,
    guard = openClusterGuard,
    hooks = {},
  } = deps;
  const bind = deps.transport ?? ((address) => bindUdpTcp(address, { clock }));
  const transport = await bind({ host: options.bindHost, port: options.bindPort });
  try {
    const [host] = options.advertiseHost ? await transport.resolve(options.advertiseHost, neverAborted) : [transport.advertiseHost];
    const address = host === undefined ? undefined : ipToBytes(host);
    if (!address) throw new CodedError("invalid_argument", "the advertised gossip host has no address", { host: options.advertiseHost });
    if (!isAllowed(bytesToIp(address) ?? "")) {
      throw new CodedError("invalid_argument", "the advertised gossip host is outside of the allowed networks", { host });
    }
    const port = options.advertisePort ?? transport.address.port;
    checkPort({ host: bytesToIp(address) ?? "", port });
    return new GossipMember(
      { name: options.name, address, port, meta, envelope, versions, tuning },
      { clock, random, logger, metrics, transport, guard, hooks, isAllowed },
    );
  } catch (error) {
    await transport.close();
    throw error;
  }
}

function envelopeOf(options: MemberOptions): Envelope {
  const { label = "", encryptionKeys, verifyIncoming, verifyOutgoing, acceptUnlabelled, protocolVersion } = options;
  if (Buffer.byteLength(label) > maxLabelBytes) throw new CodedError("invalid_argument", "a gossip label is longer than 255 bytes");
  if (options.keyRing && encryptionKeys) throw new CodedError("invalid_argument", "gossip keys are given twice: as a ring and as a list");
  const ring = options.keyRing ?? createKeyRing(encryptionKeys);
  return {
    ...{ label, verifyIncoming, verifyOutgoing, acceptUnlabelled },
    encryptionFormat: protocolVersion === 1 ? 0 : 1,
    get keys() {
      return ring.list();
    },
  };
}
