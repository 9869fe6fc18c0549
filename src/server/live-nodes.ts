import type { MemberStatus, MemberView } from "../routing/index.ts";

const living: ReadonlySet<MemberStatus> = new Set(["warming", "ready", "draining", "suspect"]);

/** Nodes that live as far as this one knows, itself included. Foreign members of the gossip, which have no address for calls, do not count. */
export function liveNodes({ self, members }: MemberView): number {
  return 1 + members.filter(({ name, status, grpcAddress }) => name !== self && grpcAddress !== "" && living.has(status)).length;
}
