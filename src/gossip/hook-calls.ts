import type { Clock } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import type { DirectAck, MemberHooks } from "./hooks.ts";
import { LimitedWarnings } from "./limited-warnings.ts";
import { maxMetaBytes } from "./wire-checks.ts";

/** Peers close the stream on more than 20 MiB of user state, and encrypted frames hold that for all: the rest is for the nodes. */
const maxUserStateBytes = 16 << 20;

/** The application's hooks, made safe to call: one that throws is as one that is absent, and is logged. */
export class HookCalls {
  readonly #hooks: MemberHooks;
  readonly #warnings: LimitedWarnings;

  constructor(hooks: MemberHooks, deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#hooks = hooks;
    this.#warnings = new LimitedWarnings(deps);
  }

  /** Whether the application takes part in full exchanges. */
  get hasUserState(): boolean {
    return this.#hooks.userState !== undefined || this.#hooks.mergeUserState !== undefined;
  }

  /** What goes with an acknowledgement; null for nothing. */
  ackPayload(): Uint8Array | null {
    const payload = this.#call("ackPayload", () => this.#hooks.ackPayload?.()) ?? null;
    if (payload === null || payload.length <= maxMetaBytes) return payload;
    this.#warnings.warn("the payload of an acknowledgement is longer than 512 bytes, none is sent", { sizeBytes: payload.length });
    return null;
  }

  onAck(ack: DirectAck): void {
    this.#call("onAck", () => this.#hooks.onAck?.(ack));
  }

  userState(join: boolean): Uint8Array {
    const bytes = this.#call("userState", () => this.#hooks.userState?.(join)) ?? new Uint8Array();
    if (bytes.length <= maxUserStateBytes) return bytes;
    this.#warnings.warn("the user state for full exchanges is too long, none is sent", {
      sizeBytes: bytes.length,
      limitBytes: maxUserStateBytes,
    });
    return new Uint8Array();
  }

  mergeUserState(bytes: Uint8Array, join: boolean): void {
    this.#call("mergeUserState", () => this.#hooks.mergeUserState?.(bytes, join));
  }

  #call<T>(hook: keyof MemberHooks, call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.#warnings.warn("a gossip hook failed", { hook, error });
      return undefined;
    }
  }
}
