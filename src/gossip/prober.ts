import type { NodeRecord } from "./node-record.ts";
import { Probe, type ProbeDeps, type ProbeOptions } from "./probe.ts";
import { ProbeOrder } from "./probe-order.ts";

export interface ProberOptions extends ProbeOptions {
  /** Confirmations that end a suspicion as early as it can end. */
  readonly confirmations: number;
}

export interface ProberDeps extends ProbeDeps {
  readonly node: (name: string) => NodeRecord | undefined;
  /** The names of this node and of all that live, sorted; the same array until one comes or goes. */
  readonly living: () => readonly string[];
  /** All known nodes, sorted by name. */
  readonly nodes: () => readonly NodeRecord[];
  readonly onRoundEnd: () => void;
}

/** Suspects that wait to be probed out of turn. */
const maxWaiting = 8;
/** How many members are expected to check a suspicion out of turn, for each confirmation that counts. */
const checkersPerConfirmation = 4;
/** For how long refused streams prove nothing of a member that lived, or that had to come back, when they were refused before. */
const doubtMs = 600_000;
const maxDoubted = 1024;

/** Probes one member after the other, each once a round, one at a time. Suspects that others report may come first. */
export class Prober implements Disposable {
  readonly #options: ProberOptions;
  /** For those whose refusals prove nothing. */
  readonly #cautious: ProberOptions;
  readonly #deps: ProberDeps;
  readonly #order: ProbeOrder;
  #untilRoundEnd = 0;
  readonly #waiting = new Set<string>();
  /** Members whose streams something between refuses, and until when that is remembered. */
  readonly #doubtedUntilMs = new Map<string, number>();
  #timer: Disposable | undefined;
  #probe: Probe | undefined;

  /** Starts probing at a random moment of the first interval. */
  constructor(options: ProberOptions, deps: ProberDeps) {
    this.#options = options;
    this.#cautious = { ...options, crashProof: false };
    this.#deps = deps;
    this.#order = new ProbeOrder(options.name);
    this.#schedule(deps.random.int(options.probeIntervalMs));
  }

  /**
   * Another member suspects `name`. Some members, not all at once, probe it next, so that the suspicion is confirmed or
   * refuted without waiting for its turn.
   */
  checkSuspect(name: string): void {
    const checkers = checkersPerConfirmation * this.#options.confirmations;
    if (this.#waiting.size >= maxWaiting || this.#deps.random.int(this.#deps.nodes().length) >= checkers) return;
    this.#waiting.add(name);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#probe?.[Symbol.dispose]();
  }

  #schedule(delayMs: number): void {
    const dueMs = this.#deps.clock.monotonic() + delayMs;
    this.#timer = this.#deps.clock.timer(delayMs, () => {
      // A late timer means that this process stood still, and so may its judgement be.
      if (this.#deps.clock.monotonic() - dueMs > this.#options.probeTimeoutMs) this.#deps.awareness.add(1);
      this.#tick();
    });
  }

  #tick() {
    const startedMs = this.#deps.clock.monotonic();
    const next = (target?: NodeRecord) => {
      this.#probe = undefined;
      if (target) this.#doubt(target.name);
      this.#schedule(Math.max(0, startedMs + this.#options.probeIntervalMs - this.#deps.clock.monotonic()));
    };
    const target = this.#nextSuspect() ?? this.#nextInTurn();
    if (!target) return next();
    const isDoubted = startedMs < (this.#doubtedUntilMs.get(target.name) ?? 0);
    this.#probe = new Probe(target, isDoubted ? this.#cautious : this.#options, this.#deps, (isRefusedAlive) =>
      next(isRefusedAlive ? target : undefined),
    );
  }

  /** A firewall or a port that is forwarded for datagrams only refuses streams as well: it must not end suspicions again and again. */
  #doubt(name: string): void {
    if (this.#doubtedUntilMs.size >= maxDoubted) this.#doubtedUntilMs.clear();
    this.#doubtedUntilMs.set(name, this.#deps.clock.monotonic() + doubtMs);
  }

  #nextSuspect(): NodeRecord | undefined {
    for (const name of this.#waiting) {
      this.#waiting.delete(name);
      const node = this.#deps.node(name);
      if (node?.state === "suspect") return node;
    }
    return undefined;
  }

  #nextInTurn(): NodeRecord | undefined {
    const { clock, node, onRoundEnd } = this.#deps;
    if (--this.#untilRoundEnd <= 0) {
      onRoundEnd();
      this.#untilRoundEnd = this.#deps.nodes().length - 1;
    }
    const name = this.#order.next(this.#deps.living(), Math.floor(clock.now() / this.#options.probeIntervalMs));
    return name === undefined ? undefined : node(name);
  }
}
