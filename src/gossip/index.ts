export { formatAddress, type GossipAddress } from "./address.ts";
export { type ClusterGuard, type ClusterGuardOptions, type ClusterIdCodec, createClusterGuard } from "./cluster-guard.ts";
export { createMember, type MemberDeps } from "./create-member.ts";
export type { Member, PeerView } from "./member.ts";
export type { MemberEvent, MemberRecord } from "./member-event.ts";
export { type GossipPreset, type GossipTuning, gossipPresets, type MemberOptions } from "./options.ts";
export type { GossipStream, Transport, TransportFactory, TransportHandlers } from "./transport.ts";
export { bindUdpTcp } from "./udp-tcp-transport.ts";
export { maxMetaBytes } from "./wire-checks.ts";
