import { abortable, type Clock, neverAborted, SingleFlight, startDeadline } from "../../base/index.ts";
import type { Counter, Logger, Metrics } from "../../observability/index.ts";
import type { Host } from "../hosts/host.ts";
import type { HostList, ReplicaState } from "../hosts/host-list.ts";
import { isReached, type Position, unknownPosition } from "../position/position.ts";
import type { Session } from "../session.ts";
import { NextFlight } from "./next-flight.ts";
import type { StickingStore } from "./sticking-store.ts";
import type { TokenStickingStore } from "./token-sticking-store.ts";

/** How reads follow writes. */
export interface StickingOptions {
  /** The store may take this long; then `onStoreFailure` decides. Default 50 ms. */
  readonly storeTimeoutMs: number;
  /** Where a session's reads go when the store does not say what they must see: to the primary, or, with "ignore", anywhere. Default "primary". */
  readonly onStoreFailure: "primary" | "ignore";
  /** A replica that is asked how far it is may take this long, while a read waits. Default 100 ms. */
  readonly replicaPositionTimeoutMs: number;
  /** The primary may take this long to say where a write ended; without an answer its keys stick until they expire. Default 1000 ms. */
  readonly primaryPositionTimeoutMs: number;
}

export const defaultStickingOptions: StickingOptions = {
  storeTimeoutMs: 50,
  onStoreFailure: "primary",
  replicaPositionTimeoutMs: 100,
  primaryPositionTimeoutMs: 1000,
};

/** What sticking works with. */
export interface StickingDeps {
  readonly store: StickingStore;
  readonly hosts: HostList;
  /** Whether servers are looked for: a list without replicas may only not have them yet, while other processes do. */
  readonly discovers: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A position that was found in a store. */
interface Found {
  readonly store: StickingStore;
  readonly key: string;
  readonly position: Position;
}

const warnEveryMs = 60_000;

/** Finds out which replicas have what a session must see, and notes what it wrote. Without replicas it asks nobody anything. */
export class Sticking {
  readonly #database: string;
  readonly #options: StickingOptions;
  readonly #deps: StickingDeps;
  readonly #picks: Counter;
  readonly #failures: Counter;
  readonly #written = new NextFlight(() => this.#askPrimary());
  readonly #asked = new SingleFlight<Position | undefined>();
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  /** `database`: the load balancer's name; the same keys mean something else in another database. */
  constructor(database: string, options: StickingOptions, deps: StickingDeps) {
    this.#database = database;
    this.#options = options;
    this.#deps = deps;
    this.#picks = deps.metrics.counter("dblb_sticky_picks_total", "Sessions with something to see, by which replicas had it", ["result"]);
    this.#failures = deps.metrics.counter("dblb_sticking_failures_total", "Failed uses of the store and of positions", ["step"]);
  }

  /**
   * Settles where a session's reads may go, once, before its first read: marks it stuck, or lets {@link serves} tell the replicas
   * apart. Never rejects. Undefined where there is nothing to wait for.
   */
  prepare(session: Session): Promise<void> | undefined {
    if (session.stuck || this.#deps.hosts.snapshot.replicas.length === 0) return undefined;
    const { keys, token, required } = session.binding;
    if (keys.length === 0 && !token && required.length === 0) return undefined;
    session.prepared ??= this.#prepare(session);
    return session.prepared;
  }

  /** Whether a replica may serve this session's reads. */
  serves(session: Session, replica: ReplicaState): boolean {
    return session.required.length === 0 || session.caughtUp?.has(replica.host) === true || hasReached(session.required, replica.reached);
  }

  /** The server that answered this session's reads is out of reach: the next one must be no older than the primary is now. */
  async moveOn(session: Session): Promise<void> {
    session.pinned = undefined;
    using patience = startDeadline(this.#deps.clock, this.#options.replicaPositionTimeoutMs);
    const position = await abortable(this.written(), patience.signal).catch(() => unknownPosition);
    // With the primary away nothing tells the others' age; an older answer is better than none.
    if (position.systemId === "") return;
    session.required = [...session.required, position];
    session.caughtUp = undefined;
    await this.#pick(session, []);
  }

  /** Notes what the session wrote for its keys and its token. Never rejects. */
  async publish(session: Session): Promise<void> {
    if (!session.unpublished) return;
    session.unpublished = false;
    const { keys, token } = session.binding;
    if ((keys.length === 0 && !token) || !this.#matters) return;
    const position = await this.written();
    // Nobody was promised anything, and a key that sticks to a primary that is away would stop its readers.
    if (position.systemId === "" && !session.acknowledged) return;
    await token?.write([this.#database], position);
    await this.#note(keys, position);
  }

  /** Notes the primary's position of now under every key. Never rejects. */
  async stick(keys: readonly string[]): Promise<void> {
    if (keys.length > 0 && this.#matters) await this.#note(keys, await this.written());
  }

  /** Notes in a caller's token what the primary has now, or, where that is not `known` to be enough, that only the primary will do. Never rejects. */
  async stickToken(token: TokenStickingStore, known: boolean): Promise<void> {
    if (this.#matters) await token.write([this.#database], known ? await this.written() : unknownPosition);
  }

  /** Where the primary's log ends, asked after this call began; `unknownPosition` where it does not say. */
  written(): Promise<Position> {
    return this.#written.run();
  }

  /** Whether a usable replica has reached all of `required`: by what is known, else by asking. */
  async isReachedSomewhere(required: readonly Position[]): Promise<boolean> {
    const usable = this.#usable();
    if (usable.some((replica) => hasReached(required, replica.reached))) return true;
    return await anyTrue(usable.map(async ({ host }) => hasReached(required, await this.reachedBy(host))));
  }

  /** How far a server is, asked now; undefined where it does not say in time. Never rejects. */
  async reachedBy(host: Host): Promise<Position | undefined> {
    try {
      return await this.#asked.run(host.name, neverAborted, () => this.#askReplica(host));
    } catch {
      this.#failures.add(1, { step: "ask" });
      return undefined;
    }
  }

  /** What the replica that answers a session's reads has now; undefined where there is none, or it may lack what the session must see. */
  async seenBy(session: Session): Promise<Position | undefined> {
    // A read beside this call may be finding out what the session must see.
    await session.prepared;
    const { pinned, prepared, stuck, required, binding } = session;
    if (stuck || pinned?.role !== "replica" || (!prepared && (binding.keys.length > 0 || binding.token))) return undefined;
    const reached = await this.reachedBy(pinned);
    return hasReached(required, reached) ? reached : undefined;
  }

  async #prepare(session: Session): Promise<void> {
    const found = await this.#lookUp(session);
    if (!found) {
      session.stuck = true;
      this.#picks.add(1, { result: "store_failed" });
      return;
    }
    session.required = [...session.binding.required, ...found.map(({ position }) => position)];
    if (session.required.length > 0) await this.#pick(session, found);
  }

  /** What the session's keys and token say; undefined where that is not known and matters. */
  async #lookUp({ binding }: Session): Promise<readonly Found[] | undefined> {
    const sources = [
      { store: this.#deps.store, keys: binding.keys.map((key) => `${this.#database}/${key}`) },
      ...(binding.token ? [{ store: binding.token, keys: [this.#database] }] : []),
    ];
    const found: Found[] = [];
    for (const { store, keys } of sources) {
      if (keys.length === 0) continue;
      const positions = await this.#bounded("read", (signal) => store.read(keys, signal));
      if (!positions && this.#options.onStoreFailure === "primary") return undefined;
      for (const [i, position] of positions?.entries() ?? []) if (position) found.push({ store, key: keys[i] as string, position });
    }
    return found;
  }

  /** Finds a replica that has what is required, by what is known, else by asking; sticks the session to the primary if none has. */
  async #pick(session: Session, found: readonly Found[]): Promise<void> {
    const { required } = session;
    const known = this.#usable().filter((replica) => hasReached(required, replica.reached));
    if (known.length > 0) {
      this.#picked(known.length === this.#deps.hosts.snapshot.replicas.length, found);
      return;
    }
    const comparable = required.every(({ systemId }) => systemId !== "");
    const answers = (comparable ? this.#usable() : []).map(async ({ host }) => {
      if (!hasReached(required, await this.reachedBy(host))) return false;
      session.caughtUp ??= new Set();
      session.caughtUp.add(host);
      return true;
    });
    if (!(await anyTrue(answers))) {
      session.stuck = true;
      this.#picks.add(1, { result: "none" });
      return;
    }
    const listed = this.#deps.hosts.snapshot.replicas.length;
    void Promise.all(answers).then((all) => this.#picked(all.length === listed && all.every(Boolean), found));
  }

  /** Where all listed replicas are there, the keys have done their work. One that is merely out would come back behind them. */
  #picked(all: boolean, found: readonly Found[]): void {
    this.#picks.add(1, { result: all ? "all" : "some" });
    if (!all) return;
    for (const { store, key, position } of found) void this.#bounded("release", (signal) => store.release(key, position, signal));
  }

  async #note(keys: readonly string[], position: Position): Promise<void> {
    const names = keys.map((key) => `${this.#database}/${key}`);
    if (names.length > 0) await this.#bounded("write", (signal) => this.#deps.store.write(names, position, signal));
  }

  async #askPrimary(): Promise<Position> {
    using deadline = startDeadline(this.#deps.clock, this.#options.primaryPositionTimeoutMs);
    try {
      const position = await this.#deps.hosts.snapshot.primary?.host.written(deadline.signal);
      if (position) return position;
    } catch {
      // Said by the counter below.
    }
    this.#failures.add(1, { step: "position" });
    return unknownPosition;
  }

  async #askReplica(host: Host): Promise<Position | undefined> {
    using deadline = startDeadline(this.#deps.clock, this.#options.replicaPositionTimeoutMs);
    return await host.reached(this.#deps.hosts.snapshot.primary?.position, deadline.signal);
  }

  /** One use of a store, within its time; undefined where it failed. */
  async #bounded<T>(step: "read" | "write" | "release", use: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    using deadline = startDeadline(this.#deps.clock, this.#options.storeTimeoutMs);
    try {
      return await abortable(use(deadline.signal), deadline.signal);
    } catch (error) {
      this.#failures.add(1, { step });
      const now = this.#deps.clock.monotonic();
      if (now - this.#warnedAtMs >= warnEveryMs) {
        this.#warnedAtMs = now;
        this.#deps.logger.warn("the sticking store does not answer", { step, error });
      }
      return undefined;
    }
  }

  /** Whether anybody may read from a replica. */
  get #matters(): boolean {
    return this.#deps.discovers || this.#deps.hosts.snapshot.replicas.length > 0;
  }

  #usable(): readonly ReplicaState[] {
    return this.#deps.hosts.snapshot.replicas.filter((replica) => replica.usable);
  }
}

function hasReached(required: readonly Position[], reached: Position | undefined): boolean {
  return reached !== undefined && required.every((position) => isReached(position, reached) === true);
}

/** Resolves with true as soon as one of them does. They never reject. */
async function anyTrue(answers: readonly Promise<boolean>[]): Promise<boolean> {
  const wins = answers.map(async (answer) => {
    if (!(await answer)) throw new Error("not this one");
  });
  return await Promise.any(wins).then(
    () => true,
    () => false,
  );
}
