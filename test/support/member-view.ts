import { Ring } from "../../src/ring/index.ts";
import type { MemberInfo, MemberView } from "../../src/routing/index.ts";

/** A ready member; `fields` says what differs. */
export function memberInfo(name: string, fields: Partial<MemberInfo> = {}): MemberInfo {
  return {
    name,
    status: "ready",
    grpcAddress: `${name}:8075`,
    grpcTls: false,
    httpUrl: `http://${name}:8076`,
    gossipAddress: `${name}:7946`,
    weight: 1,
    zone: "",
    version: "test",
    ...fields,
  };
}

/** A view of `self` in which only `sites` own repositories. */
export function memberView(self: string, members: readonly MemberInfo[], sites: readonly string[], replicas = 1): MemberView {
  const ring = new Ring(
    sites.map((name) => ({ name, weight: 1 })),
    { replicas },
  );
  return { self, members, ring };
}
