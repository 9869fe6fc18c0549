import type { MemberStatus, MemberView } from "../routing/index.ts";

const living: ReadonlySet<MemberStatus> = new Set(["warming", "ready", "draining", "suspect"]);

// It is asked for with each read that falls back to the primary, and a view never changes.
const counted = new WeakMap<MemberView, number>();

/** Nodes that live as far as this one knows, itself included. Foreign members of the gossip, which have no address for calls, do not count. */
export function liveNodes(view: MemberView): number {
  const known = counted.get(view);
  if (known !== undefined) return known;
  const { self, members } = view;
  const others = members.filter(({ name, status, grpcAddress }) => name !== self && grpcAddress !== "" && living.has(status));
  counted.set(view, 1 + others.length);
  return 1 + others.length;
}
