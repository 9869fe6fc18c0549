import { type ClusterGuard, openClusterGuard } from "./cluster-guard.ts";
import type { HookCalls } from "./hook-calls.ts";

const emptyBytes = new Uint8Array();
const lengthBytes = 4;

/**
 * The one user state of a full exchange, for the cluster's guard and for the application. Who is there alone has all of it. Where
 * both are, the guard's part comes first, with its length in front: four bytes, the highest first.
 */
export class UserState {
  readonly #guard: ClusterGuard;
  readonly #hooks: HookCalls;
  readonly #hasGuard: boolean;

  constructor(deps: { readonly guard: ClusterGuard; readonly hooks: HookCalls }) {
    this.#guard = deps.guard;
    this.#hooks = deps.hooks;
    this.#hasGuard = deps.guard !== openClusterGuard;
  }

  /** What this member sends. `join`: one of the two joins through the other. */
  local(join: boolean): Uint8Array {
    if (!this.#hooks.hasUserState) return this.#guard.userState();
    const own = this.#hooks.userState(join);
    return this.#hasGuard ? frame(this.#guard.userState(), own) : own;
  }

  /** What goes with a question, which tells nothing but of which cluster it is. */
  question(): Uint8Array {
    const guarded = this.#guard.userState();
    return this.#hooks.hasUserState && this.#hasGuard ? frame(guarded, emptyBytes) : guarded;
  }

  /** False: the peer that sent `bytes` belongs to another cluster. */
  accepts(bytes: Uint8Array): boolean {
    return this.#guard.acceptUserState(this.#split(bytes)[0]);
  }

  /** Hands the application its part of what an accepted peer sent. */
  merge(bytes: Uint8Array, join: boolean): void {
    const own = this.#split(bytes)[1];
    if (own.length > 0) this.#hooks.mergeUserState(own, join);
  }

  #split(bytes: Uint8Array): [guard: Uint8Array, application: Uint8Array] {
    if (!this.#hooks.hasUserState) return [bytes, emptyBytes];
    return this.#hasGuard ? unframe(bytes) : [emptyBytes, bytes];
  }
}

function frame(guard: Uint8Array, application: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(lengthBytes + guard.length + application.length);
  bytes.writeUInt32BE(guard.length);
  bytes.set(guard, lengthBytes);
  bytes.set(application, lengthBytes + guard.length);
  return bytes;
}

/** Bytes without the frame are those of a foreign member; the guard may know what they are. */
function unframe(bytes: Uint8Array): [Uint8Array, Uint8Array] {
  const end =
    bytes.length < lengthBytes ? Number.POSITIVE_INFINITY : lengthBytes + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  if (end > bytes.length) return [bytes, emptyBytes];
  return [bytes.subarray(lengthBytes, end), bytes.subarray(end)];
}
