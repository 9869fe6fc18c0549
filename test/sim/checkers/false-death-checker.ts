import { bounds } from "../bounds.ts";
import type { SimNode } from "../sim-node.ts";
import type { Checker, MembershipEvent } from "./checker.ts";

interface FalseDeath {
  readonly viewer: SimNode;
  readonly target: SimNode;
  readonly sinceMs: number;
}

export interface FalseDeathDeps {
  /** The running member of this name, if there is one. */
  readonly runningMember: (name: string) => SimNode | undefined;
  /** Since when no fault holds any of these; undefined while one does. */
  readonly soundSinceMs: (...nodes: SimNode[]) => number | undefined;
}

/**
 * No live member that can be reached is dead in any view for longer than the bound. Reached: no fault holds it or the
 * viewer. A member that the view has forgotten after that counts as dead until it is back.
 */
export class FalseDeathChecker implements Checker {
  /** How often a view declared a running member dead, whatever held it. */
  count = 0;
  /** Of those: where no fault had held viewer or member for the bound's time. */
  unprovoked = 0;
  readonly #deps: FalseDeathDeps;
  readonly #pending = new Map<SimNode, Map<string, FalseDeath>>();

  constructor(deps: FalseDeathDeps) {
    this.#deps = deps;
  }

  ended(node: SimNode): void {
    this.#pending.delete(node);
  }

  event(viewer: SimNode, event: MembershipEvent, nowMs: number): void {
    const { name, host } = event.member;
    if (event.type === "joined") return void this.#pending.get(viewer)?.delete(name);
    if (event.type !== "failed" && event.type !== "left") return;
    const target = this.#deps.runningMember(name);
    if (!target || target.host !== host || target === viewer) return;
    this.count++;
    const soundSinceMs = this.#deps.soundSinceMs(viewer, target);
    if (soundSinceMs !== undefined && nowMs - soundSinceMs > bounds.falseDeathMs) this.unprovoked++;
    const pending = this.#pending.get(viewer) ?? new Map<string, FalseDeath>();
    this.#pending.set(viewer, pending);
    pending.set(name, { viewer, target, sinceMs: nowMs });
  }

  everySecond(nowMs: number): void {
    for (const pending of this.#pending.values()) for (const death of pending.values()) this.#check(death, pending, nowMs);
  }

  #check({ viewer, target, sinceMs }: FalseDeath, pending: Map<string, FalseDeath>, nowMs: number): void {
    if (!target.running || target.left || viewer.left) return void pending.delete(target.name);
    const soundSinceMs = this.#deps.soundSinceMs(viewer, target);
    if (soundSinceMs === undefined || nowMs - Math.max(sinceMs, soundSinceMs) <= bounds.falseDeathMs) return;
    throw new Error(`${target.name} lives and can be reached, and is dead for ${viewer.name} since ${sinceMs} ms`);
  }
}
