import { CodedError } from "../../src/base/index.ts";
import { makeCompounds } from "../../src/gossip/codec/compound.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { StreamReader } from "../../src/gossip/codec/stream.ts";
import type { MembershipState } from "../../src/gossip/state.ts";
import type { Effect, StateEvent } from "../../src/gossip/state-event.ts";
import { aliveMessage, createState } from "../support/membership-state.ts";

const plain = { label: "", keys: [] };
/** This node and one other, with the names that the seeds speak of. */
function create(): MembershipState {
  const state = createState({ name: "n1", acceptNode: ({ meta }) => meta[0] !== 66 });
  state.apply(aliveMessage("n2", 3, { address: Uint8Array.of(10, 0, 0, 2) }), 0);
  return state;
}

/** What the bytes say about the membership, as a datagram or as a push/pull. */
function eventsOf(bytes: Uint8Array): StateEvent[] {
  try {
    if (bytes[0] === 6) {
      const message = new StreamReader(plain, true).push(bytes);
      return message?.type === "pushPull" ? [{ type: "merge", nodes: message.nodes, isSole: false }] : [];
    }
    return openPacket(bytes, plain).messages.flatMap((message) =>
      message.type === "alive" || message.type === "suspect" || message.type === "dead" ? [message] : [],
    );
  } catch (error) {
    if (CodedError.is(error, "protocol_error")) return [];
    throw error;
  }
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** What the effects may be: few, of a size that fits a datagram, and only with names and numbers that peers take. */
function checkEffects(effects: readonly Effect[]): void {
  check(effects.length <= 6, `${effects.length} effects of one claim`);
  for (const effect of effects) {
    if (effect.kind === "armSuspicion") check(effect.delayMs >= 0 && effect.delayMs <= 10_000_000, `a delay of ${effect.delayMs}`);
    if (effect.kind !== "broadcast" && effect.kind !== "send") continue;
    const encoded = encodePacketMessage(effect.message);
    check(encoded.length <= 1300, `a message of ${encoded.length} bytes`);
    check(openPacket(makeCompounds([encoded])[0] as Uint8Array, plain).messages.length === 1, "a message that cannot be read");
  }
}

/** Feeds a state machine with what the bytes hold, checks what must hold after each event, and names the kinds of effects. */
export function foldIntoState(bytes: Uint8Array): string {
  const state = create();
  const kinds = new Set<string>();
  let nowMs = 0;
  for (const event of eventsOf(bytes).flatMap(single)) {
    const before = new Map(state.nodes.map((node) => [node.name, node]));
    const effects = state.apply(event, ++nowMs);
    checkEffects(effects);
    for (const effect of effects) {
      kinds.add(effect.kind === "event" ? `${effect.event.type} ${"reason" in effect.event ? effect.event.reason : ""}` : effect.kind);
    }
    for (const node of state.nodes) {
      const earlier = before.get(node.name);
      const moved = earlier && (earlier.host !== node.host || earlier.port !== node.port);
      check(!earlier || moved || node.incarnation >= earlier.incarnation, `the incarnation of ${node.name} went back`);
      check(Buffer.byteLength(node.name) <= 255 && node.name !== "", "an impossible name in the view");
      check(node.host !== "" && node.port > 0 && node.meta.length <= 512 && node.versions.length === 6, "an impossible node in the view");
    }
    check(state.own.node === "n1" && state.own.port === 7946, "this node took over another's word for its own");
    check(state.nameLost || state.node("n1")?.state === "alive", "this node believes that it is gone");
  }
  return [...kinds].sort().join();
}

/** A push/pull as its single claims, so that each is checked. */
function single(event: StateEvent): StateEvent[] {
  return event.type === "merge"
    ? event.nodes.slice(0, 50).map((node) => ({ type: "merge", nodes: [node], isSole: event.isSole }))
    : [event];
}
