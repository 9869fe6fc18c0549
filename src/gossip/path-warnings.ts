import type { Clock } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { formatAddress } from "./address.ts";
import type { MemberRecord } from "./member-event.ts";

/** One member is not warned about again within this time. */
const repeatAfterMs = 600_000;
const maxMembers = 1024;

/** Says once which members answer over TCP and not over UDP: they stay members, but someone should open the path. */
export class PathWarnings {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #warnedAtMs = new Map<string, number>();

  constructor(deps: { clock: Clock; logger: Logger }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** A member answered a probe over a stream although it did not over datagrams. */
  overStreamOnly(member: MemberRecord): void {
    const nowMs = this.#clock.monotonic();
    const before = this.#warnedAtMs.get(member.name);
    if (before !== undefined && nowMs - before < repeatAfterMs) return;
    if (this.#warnedAtMs.size >= maxMembers) this.#warnedAtMs.clear();
    this.#warnedAtMs.set(member.name, nowMs);
    this.#logger.warn("UDP to a member is blocked, it answers over TCP only", { member: member.name, address: formatAddress(member) });
  }
}
