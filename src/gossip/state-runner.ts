import type { Clock } from "../base/index.ts";
import { bytesToIp, type GossipAddress } from "./address.ts";
import type { Awareness } from "./awareness.ts";
import type { BroadcastQueue } from "./broadcast-queue.ts";
import type { PacketMessage } from "./codec/message.ts";
import { encodePacketMessage } from "./codec/packet-message.ts";
import type { EventHub } from "./event-hub.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";
import type { MemberEvent } from "./member-event.ts";
import type { NodeRecord } from "./node-record.ts";
import type { MembershipState } from "./state.ts";
import type { Effect, StateEvent } from "./state-event.ts";
import type { SuspicionTimers } from "./suspicion-timers.ts";

export interface StateRunnerDeps {
  readonly clock: Clock;
  readonly state: MembershipState;
  readonly queue: BroadcastQueue;
  readonly suspicions: SuspicionTimers;
  readonly awareness: Awareness;
  readonly metrics: GossipMetrics;
  readonly events: EventHub;
  readonly send: (to: GossipAddress, messages: readonly PacketMessage[]) => void;
  /** Something was queued. */
  readonly onQueued: () => void;
  /** The view changed; called before the event's subscribers are. */
  readonly onEvent: (event: MemberEvent) => void;
  /** A node that is not in the view lives at this address. */
  readonly onUnknown: (address: GossipAddress) => void;
  readonly onForgotten: (record: NodeRecord) => void;
  /** The news that this node leaves has gone out as often as it should. */
  readonly onLeaveSent: () => void;
}

/** Applies events to the rules and carries out what follows from them. */
export class StateRunner implements Disposable {
  readonly #deps: StateRunnerDeps;
  #stopped = false;

  constructor(deps: StateRunnerDeps) {
    this.#deps = deps;
  }

  /** Nothing is applied any more. */
  [Symbol.dispose](): void {
    this.#stopped = true;
  }

  apply(event: StateEvent): void {
    if (this.#stopped) return;
    const effects = this.#deps.state.apply(event, this.#deps.clock.monotonic());
    for (const effect of effects) this.#perform(effect);
    // Listeners come last: they see the new view and may call back.
    for (const effect of effects) if (effect.kind === "event") this.#deps.events.emit(effect.event);
  }

  #perform(effect: Effect) {
    const { awareness, metrics, suspicions, send, onEvent, onForgotten, onUnknown } = this.#deps;
    switch (effect.kind) {
      case "broadcast":
        return this.#broadcast(effect.message);
      case "send":
        return send({ host: bytesToIp(effect.to.address) ?? "", port: effect.to.port }, [effect.message]);
      case "armSuspicion":
        return suspicions.arm(effect.node, effect.incarnation, effect.delayMs);
      case "disarmSuspicion":
        return suspicions.disarm(effect.node);
      case "refuted":
        awareness.add(1);
        return metrics.refutations.add();
      case "unknown":
        return onUnknown({ host: bytesToIp(effect.address) ?? "", port: effect.port });
      case "forgotten":
        // Told later, its end would strike the node's successor.
        this.#deps.queue.drop(effect.record.name);
        return onForgotten(effect.record);
      case "dropped":
        return metrics.dropped.add(1, { reason: effect.reason });
      case "event":
        return onEvent(effect.event);
    }
  }

  #broadcast(message: Extract<Effect, { kind: "broadcast" }>["message"]): void {
    const { queue, state, onLeaveSent, onQueued } = this.#deps;
    const isOwnLeave = message.type === "dead" && message.node === state.own.node && message.from === message.node;
    queue.queueSystem(message.node, encodePacketMessage(message), isOwnLeave ? { onFinished: onLeaveSent, urgent: true } : {});
    onQueued();
  }
}
