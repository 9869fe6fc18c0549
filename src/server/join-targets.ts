import type { Config, JoinAddress } from "../config/index.ts";
import type { KeptPorts } from "./kept-addresses.ts";

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/**
 * The join addresses without this node's own: a gRPC or gossip port that was given, or kept from an earlier start, on the host that
 * the listener is bound to. A configuration for all nodes may name each of them.
 */
export function joinTargets(config: Config, kept: KeptPorts | undefined): readonly JoinAddress[] {
  return config.joinAddrs.filter((target) => {
    const wanted = target.scheme === "gossip" ? config.gossip : config.grpc;
    const keptPort = target.scheme === "gossip" ? kept?.gossip : kept?.grpc;
    const ownPort = wanted.explicit && wanted.port !== 0 ? wanted.port : keptPort;
    const ownHosts = [wanted.host, config.advertiseHost];
    return !(target.port === ownPort && (ownHosts.includes(target.host) || (loopback.test(target.host) && loopback.test(wanted.host))));
  });
}

/** Ports on this host where a peer is expected, which a default must therefore leave free. */
export function expectedPeerPorts(targets: readonly JoinAddress[]): ReadonlySet<number> {
  return new Set(targets.filter(({ host }) => loopback.test(host)).map(({ port }) => port));
}
