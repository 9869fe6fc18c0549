import type { Clock, Random } from "../../base/index.ts";
import type { Counter, Metrics } from "../../observability/index.ts";
import { FallbackBudget } from "./fallback-budget.ts";
import { type OverloadOptions, readSlots } from "./overload-options.ts";
import { Permit } from "./permit.ts";
import { PrimaryShedError, type ShedReason } from "./primary-shed-error.ts";

/** Why a read runs on the primary: it must (its session wrote, or its caller asks for it), or no replica is left for it. */
export type ReadKind = "sticky" | "fallback";

/** What the gate works with. */
export interface PrimaryGateDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Counts what is refused, by reason. */
  readonly shed: Counter;
  /** Whether the primary has no connection free. */
  readonly strained: () => boolean;
}

interface Lane {
  readonly kind: ReadKind;
  readonly slots: number;
  readonly waitMs: number;
  inUse: number;
  /** The first one has waited longest. */
  readonly waiting: Set<(permit: Permit) => void>;
}

const minRetryMs = 100;
const maxRetryMs = 5000;

/** Lets reads through to the primary: no more than it can take beside its writes, the rest after a short wait or not at all. */
export class PrimaryGate {
  readonly #options: OverloadOptions;
  readonly #deps: PrimaryGateDeps;
  readonly #slots: number;
  readonly #lanes: Readonly<Record<ReadKind, Lane>>;
  readonly #budget: FallbackBudget;
  #timer: Disposable | undefined;

  constructor(options: OverloadOptions & { readonly poolSize: number; readonly connectTimeoutMs: number }, deps: PrimaryGateDeps) {
    const slots = readSlots(options.poolSize, options);
    this.#options = options;
    this.#deps = deps;
    this.#slots = slots.reads;
    this.#lanes = {
      sticky: { kind: "sticky", slots: slots.reads, waitMs: options.connectTimeoutMs, inUse: 0, waiting: new Set() },
      fallback: { kind: "fallback", slots: slots.fallback, waitMs: options.fallbackWaitMs, inUse: 0, waiting: new Set() },
    };
    this.#budget = new FallbackBudget(options, deps.clock.monotonic());
    deps.metrics.gauge("dblb_primary_queue", "Reads that wait for the primary, by kind", ["kind"], (gauge) => {
      for (const { kind, waiting } of Object.values(this.#lanes)) gauge.set(waiting.size, { kind });
    });
    deps.metrics.gauge("dblb_fallback_per_second", "Reads that may fall back to the primary each second, as things are", [], (gauge) =>
      gauge.set(this.#budget.perSecond(deps.clock.monotonic())),
    );
    deps.metrics.gauge("dblb_primary_reads", "Reads that run on the primary, by kind", ["kind"], (gauge) => {
      for (const { kind, inUse } of Object.values(this.#lanes)) gauge.set(inUse, { kind });
    });
  }

  /** Notes a read, wherever it will run: the share of those that fall back is a share of these. */
  noteRead(): void {
    this.#budget.noteRead(this.#deps.clock.monotonic());
  }

  /** Notes that the primary failed a read. */
  noteTrouble(): void {
    this.#budget.notePrimary(true, this.#deps.clock.monotonic());
  }

  /** Waits for a turn. Dispose the permit when the read's connection is given back. Errors: `PrimaryShedError`, the signal's reason. */
  async enter(kind: ReadKind, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const lane = this.#lanes[kind];
    if (kind === "fallback") this.#budget.notePrimary(this.#deps.strained(), this.#deps.clock.monotonic());
    const permit = lane.waiting.size === 0 ? this.#admit(lane) : undefined;
    if (permit) return permit;
    if (lane.waiting.size >= this.#options.maxQueuedReads) throw this.#refuse(lane, "queue");
    return await this.#wait(lane, signal);
  }

  #wait(lane: Lane, signal: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        lane.waiting.delete(turn);
        timer[Symbol.dispose]();
        signal.removeEventListener("abort", onAbort);
      };
      const turn = (permit: Permit) => {
        leave();
        resolve(permit);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const timer = this.#deps.clock.timer(lane.waitMs, () => {
        leave();
        reject(this.#refuse(lane, this.#full(lane) ? "slots" : "rate"));
      });
      signal.addEventListener("abort", onAbort, { once: true });
      lane.waiting.add(turn);
      this.#callWhenFilled();
    });
  }

  /** Those whose sessions wrote go first: a replica cannot take them. */
  #callNext(): void {
    for (const lane of [this.#lanes.sticky, this.#lanes.fallback]) {
      for (const turn of lane.waiting) {
        const permit = this.#admit(lane);
        if (!permit) break;
        turn(permit);
      }
    }
    this.#callWhenFilled();
  }

  /** Where only the rate holds the next one up, nobody's leaving will call it. */
  #callWhenFilled(): void {
    const { fallback } = this.#lanes;
    if (this.#timer || fallback.waiting.size === 0 || this.#full(fallback)) return;
    const waitMs = Math.min(this.#budget.waitMs(this.#deps.clock.monotonic()), fallback.waitMs);
    this.#timer = this.#deps.clock.timer(Math.max(1, waitMs), () => {
      this.#timer = undefined;
      this.#callNext();
    });
  }

  #full(lane: Lane): boolean {
    return lane.inUse >= lane.slots || this.#lanes.sticky.inUse + this.#lanes.fallback.inUse >= this.#slots;
  }

  #admit(lane: Lane): Permit | undefined {
    if (this.#full(lane)) return undefined;
    if (lane.kind === "fallback" && !this.#budget.take(this.#deps.clock.monotonic())) return undefined;
    lane.inUse++;
    return new Permit(() => {
      lane.inUse--;
      this.#callNext();
    });
  }

  #refuse(lane: Lane, reason: ShedReason): PrimaryShedError {
    this.#deps.shed.add(1, { reason });
    const waitMs = reason === "slots" ? 0 : this.#budget.waitMs(this.#deps.clock.monotonic(), lane.waiting.size + 1);
    const bounded = Math.min(maxRetryMs, Math.max(minRetryMs, waitMs));
    // Those who are refused together must not come back together.
    return new PrimaryShedError(reason, lane.kind, Math.round(bounded * (1 + this.#deps.random.float())));
  }
}
