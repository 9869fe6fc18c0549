import type { AliveMessage, PushNodeState } from "../../src/gossip/codec/message.ts";
import { MembershipState, type StateOptions } from "../../src/gossip/state.ts";

const none = new Uint8Array();
/** Speaks version 2, understands 1 to 5. */
export const testVersions: Uint8Array = Uint8Array.of(1, 5, 2, 0, 0, 0);

/** The view of a member named `self` at 10.0.0.1:7946 with the timing of one site, alone and at time 0. */
export function createState(options: Partial<StateOptions> = {}): MembershipState {
  return new MembershipState(
    {
      name: "self",
      address: Uint8Array.of(10, 0, 0, 1),
      port: 7946,
      meta: none,
      suspicionMultiplier: 4,
      suspicionMaxMultiplier: 6,
      probeIntervalMs: 1000,
      versions: testVersions,
      acceptNode: () => true,
      ...options,
    },
    0,
  );
}

/** What the node says of itself, at 10.0.1.1:7946 unless `more` says otherwise. */
export function aliveMessage(node: string, incarnation: number, more: Partial<AliveMessage> = {}): AliveMessage {
  return { type: "alive", node, incarnation, address: Uint8Array.of(10, 0, 1, 1), port: 7946, meta: none, versions: testVersions, ...more };
}

/** As a peer knows it. */
export function remoteNode(name: string, incarnation: number, state: PushNodeState["state"], host: number): PushNodeState {
  return { name, incarnation, state, address: Uint8Array.of(10, 0, 1, host), port: 7946, meta: none, versions: testVersions };
}
