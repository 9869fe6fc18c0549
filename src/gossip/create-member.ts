import { type Clock, CodedError, neverAborted, type Random, systemClock, systemRandom } from "../base/index.ts";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../observability/index.ts";
import { ipToBytes } from "./address.ts";
import { type ClusterGuard, openClusterGuard } from "./cluster-guard.ts";
import { isEncryptionKey } from "./codec/encryption.ts";
import { maxLabelBytes } from "./codec/label.ts";
import { GossipMember } from "./gossip-member.ts";
import type { Member } from "./member.ts";
import { type MemberOptions, tuningOf } from "./options.ts";
import type { TransportFactory } from "./transport.ts";
import { bindUdpTcp } from "./udp-tcp-transport.ts";
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
}

/**
 * Binds the listeners and starts a member that is alone until it joins or is joined.
 *
 * Errors: `invalid_argument`, `limit_exceeded`, and the platform's where the address cannot be bound.
 */
export async function createMember(options: MemberOptions, deps: MemberDeps = {}): Promise<Member> {
  const label = options.label ?? "";
  const keys = options.encryptionKeys ?? [];
  const meta = options.meta ?? new Uint8Array();
  checkName(options.name);
  checkMeta(meta);
  if (Buffer.byteLength(label) > maxLabelBytes) throw new CodedError("invalid_argument", "a gossip label is longer than 255 bytes");
  if (!keys.every(isEncryptionKey)) throw new CodedError("invalid_argument", "a gossip key is not 16, 24 or 32 bytes long");
  const { clock = systemClock, random = systemRandom, logger = silentLogger, metrics = noMetrics, guard = openClusterGuard } = deps;
  const bind = deps.transport ?? ((address) => bindUdpTcp(address, { clock }));
  const transport = await bind({ host: options.bindHost, port: options.bindPort });
  try {
    const [host] = options.advertiseHost ? await transport.resolve(options.advertiseHost, neverAborted) : [transport.advertiseHost];
    const address = host === undefined ? undefined : ipToBytes(host);
    if (!address) throw new CodedError("invalid_argument", "the advertised gossip host has no address", { host: options.advertiseHost });
    const port = options.advertisePort ?? transport.address.port;
    return new GossipMember(
      { name: options.name, address, port, meta, envelope: { label, keys }, tuning: tuningOf(options) },
      { clock, random, logger, metrics, transport, guard },
    );
  } catch (error) {
    await transport.close();
    throw error;
  }
}
