import { type Clock, CodedError, linkSignals, neverAborted, sharedAbortController } from "../base/index.ts";
import type { HostStatus } from "./hosts/host-status.ts";
import { checkJob, type JobCheck, type JobOptions, type JobPositions } from "./jobs/job-positions.ts";
import type { LoadBalancer } from "./load-balancer.ts";
import type { SessionOptions } from "./options.ts";
import { type OptionsAndWork, optionsAndWork } from "./options-and-work.ts";
import type { StickKey } from "./sticking/sticking-key.ts";
import type { TokenStickingStore } from "./sticking/token-sticking-store.ts";
import type { SwitchName, SwitchSetting } from "./switches.ts";

/** Which databases a block is about. */
export interface DatabaseChoice<N extends string> {
  /** Default: all. */
  readonly databases?: readonly N[];
}

/** Several databases, each with a load balancer of its own, and units of work that span them. */
export class LoadBalancers<N extends string = string> implements AsyncDisposable {
  readonly #balancers: ReadonlyMap<N, LoadBalancer>;
  readonly #clock: Clock;
  readonly #destroyed = sharedAbortController();

  constructor(balancers: ReadonlyMap<N, LoadBalancer>, deps: { readonly clock: Clock }) {
    this.#balancers = balancers;
    this.#clock = deps.clock;
  }

  /** The load balancer of one database. Errors: `invalid_argument` for an unknown name. */
  get(name: N): LoadBalancer {
    const balancer = this.#balancers.get(name);
    if (!balancer) {
      throw new CodedError("invalid_argument", "no database of this name is configured", { name, known: [...this.#balancers.keys()] });
    }
    return balancer;
  }

  /** Every database's servers as they are judged now. */
  get status(): Readonly<Record<N, readonly HostStatus[]>> {
    return Object.fromEntries([...this.#balancers].map(([name, balancer]) => [name, balancer.status])) as Record<N, readonly HostStatus[]>;
  }

  /** Changes one switch for every database. */
  setSwitch(name: SwitchName, setting: SwitchSetting): void {
    for (const balancer of this.#all) balancer.switches.set(name, setting);
  }

  /** One unit of work in every database: one session, one position per key, one token for all of them. */
  session<T>(fn: () => Promise<T>): Promise<T>;
  session<T>(options: SessionOptions, fn: () => Promise<T>): Promise<T>;
  session<T>(...args: OptionsAndWork<SessionOptions, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    let token: TokenStickingStore | undefined;
    for (const balancer of this.#all) token ??= balancer.openToken(options.token);
    const shared: SessionOptions = token ? { ...options, token } : options;
    return nest(this.#all, (balancer, inner) => balancer.session(shared, inner), fn);
  }

  /** Reads in `fn` go to the primaries of the chosen databases. */
  usePrimary<T>(fn: () => Promise<T>): Promise<T>;
  usePrimary<T>(options: DatabaseChoice<N>, fn: () => Promise<T>): Promise<T>;
  usePrimary<T>(...args: OptionsAndWork<DatabaseChoice<N>, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    return nest(this.#chosen(options), (balancer, inner) => balancer.usePrimary(inner), fn);
  }

  /** Reads in `fn` go to replicas of the chosen databases, even after a write. */
  useReplicasForReadQueries<T>(fn: () => Promise<T>): Promise<T>;
  useReplicasForReadQueries<T>(options: DatabaseChoice<N> & { onWrite?: "primary" | "throw" }, fn: () => Promise<T>): Promise<T>;
  useReplicasForReadQueries<T>(
    ...args: OptionsAndWork<DatabaseChoice<N> & { onWrite?: "primary" | "throw" }, () => Promise<T>>
  ): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    const { onWrite = "primary" } = options;
    return nest(this.#chosen(options), (balancer, inner) => balancer.useReplicasForReadQueries({ onWrite }, inner), fn);
  }

  /** In `fn`, what cannot be told apart is tried on a replica of the chosen databases, as long as the session has not written there. */
  fallbackToReplicasForAmbiguousQueries<T>(fn: () => Promise<T>): Promise<T>;
  fallbackToReplicasForAmbiguousQueries<T>(options: DatabaseChoice<N>, fn: () => Promise<T>): Promise<T>;
  fallbackToReplicasForAmbiguousQueries<T>(...args: OptionsAndWork<DatabaseChoice<N>, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    return nest(this.#chosen(options), (balancer, inner) => balancer.fallbackToReplicasForAmbiguousQueries(inner), fn);
  }

  /** Writes in `fn` to the chosen databases do not stick. */
  ignoreWrites<T>(fn: () => Promise<T>): Promise<T>;
  ignoreWrites<T>(options: DatabaseChoice<N>, fn: () => Promise<T>): Promise<T>;
  ignoreWrites<T>(...args: OptionsAndWork<DatabaseChoice<N>, () => Promise<T>>): Promise<T> {
    const [options, fn] = optionsAndWork(args);
    return nest(this.#chosen(options), (balancer, inner) => balancer.ignoreWrites(inner), fn);
  }

  /** Sticks later sessions of all these keys to what every primary has now. */
  async stick(keys: readonly StickKey[]): Promise<void> {
    await Promise.all(this.#all.map((balancer) => balancer.stick(keys)));
  }

  /** Inside a session: what its caller must see of every database, signed. Errors: as {@link LoadBalancer.positionToken}. */
  async positionToken(): Promise<string | undefined> {
    let token: string | undefined;
    for (const balancer of this.#all) token = await balancer.positionToken();
    return token;
  }

  /** What a job that is put into a queue now must see when it runs, per database. */
  async capture(): Promise<JobPositions> {
    return Object.assign({}, ...(await Promise.all(this.#all.map((balancer) => balancer.capture())))) as JobPositions;
  }

  /** Where a job's reads may go in all databases, after a short wait for replicas; hand it to `session({ job })`. */
  async checkJob(positions: unknown, options: JobOptions = {}): Promise<JobCheck> {
    using linked = linkSignals(options.signal ?? neverAborted, this.#destroyed.signal);
    return await checkJob(positions, options, this.#all, { clock: this.#clock, signal: linked.signal });
  }

  /** Refuses new work, waits for what runs, closes every connection. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((balancer) => balancer.close()));
  }

  /** Like `close`, but what runs is given up. */
  async destroy(): Promise<void> {
    this.#destroyed.abort(new CodedError("failed_precondition", "the load balancers are closed"));
    await Promise.all(this.#all.map((balancer) => balancer.destroy()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #all(): readonly LoadBalancer[] {
    return [...this.#balancers.values()];
  }

  #chosen({ databases }: DatabaseChoice<N>): readonly LoadBalancer[] {
    return databases ? databases.map((name) => this.get(name)) : this.#all;
  }
}

/** Runs `fn` inside a block of each load balancer, the first one outermost. */
function nest<T>(
  balancers: readonly LoadBalancer[],
  block: (balancer: LoadBalancer, inner: () => Promise<T>) => Promise<T>,
  fn: () => Promise<T>,
): Promise<T> {
  return balancers.reduceRight((inner, balancer) => () => block(balancer, inner), fn)();
}
