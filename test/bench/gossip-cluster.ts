import { setTimeout as delay } from "node:timers/promises";
import type { AgentEvent, JsonAgent } from "../support/json-agent.ts";

/** What all members of a cluster sent in sum, and the processor time of their process. */
export interface Usage {
  readonly udpPackets: number;
  readonly udpBytes: number;
  readonly tcpDials: number;
  readonly tcpBytes: number;
  readonly cpuMs: number;
}

interface Waiting {
  readonly event: string;
  readonly member: string;
  readonly meta: string | undefined;
  readonly missing: Set<string>;
  lastAtMs: number;
  readonly resolve: () => void;
}

interface Stats {
  readonly udpPacketsOut: number;
  readonly udpBytesOut: number;
  readonly tcpDials: number;
  readonly tcpBytes: number;
}

/** Long enough for full exchanges to bring what gossip did not. */
const knownWithinMs = 150_000;
/** A newcomer that some have not heard of by then is news that they missed. */
const newcomerMs = 10_000;

/** A cluster of members of one kind in one process. Its times are from the order until the last other member has said so. */
export class GossipCluster {
  /** Members that were said to be gone while they were there: who said it of whom. */
  readonly falseDeaths: string[] = [];
  /** Who did not hear of what in a long time. */
  readonly missed: string[] = [];
  readonly #agent: JsonAgent;
  readonly #overrides: object;
  readonly #host: string;
  readonly #waiting = new Set<Waiting>();
  /** Names and ports, the oldest first; the first one is never touched. */
  readonly #live = new Map<string, number>();
  readonly #gone = new Set<string>();
  #lossOut = 0;
  #made = 0;
  #metas = 0;

  /** `host`: a loopback address of its own, or another cluster might take the port of a lost member, and the two would become one. */
  constructor(options: { overrides: object; host: string }, deps: { agent: JsonAgent }) {
    this.#agent = deps.agent;
    this.#overrides = options.overrides;
    this.#host = options.host;
    deps.agent.subscribe((event) => this.#onEvent(event));
  }

  get size(): number {
    return this.#live.size;
  }

  /** Starts `count` members, one after the other, and resolves when each sees all. */
  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#add();
    if (!(await this.#allSeeAll(knownWithinMs))) throw new Error("the members of a cluster do not see each other");
  }

  /** A member ends without a word; a new one takes its place. */
  async crash(): Promise<number> {
    const tookMs = await this.#remove("shutdown");
    await this.#replace();
    return tookMs;
  }

  /** A member leaves; a new one takes its place. */
  async leave(): Promise<number> {
    const name = this.#next();
    const tookMs = await this.#remove("leave");
    await this.#agent.request("shutdown", { name });
    await this.#replace();
    return tookMs;
  }

  /** A member gets other metadata. */
  async update(): Promise<number> {
    const name = this.#next();
    this.#live.set(name, this.#take(name));
    const meta = Buffer.from(`zone=${this.#metas++}`).toString("hex");
    return await this.#measure("update", name, meta, () => this.#agent.request("setMeta", { name, meta }));
  }

  /** Every member loses this share of the datagrams that it sends, 0 to 1. */
  async lose(lossOut: number): Promise<void> {
    this.#lossOut = lossOut;
    await Promise.all([...this.#live.keys()].map((name) => this.#agent.request("setLoss", { name, lossOut })));
  }

  async usage(): Promise<Usage> {
    const all = await Promise.all([...this.#live.keys()].map((name) => this.#agent.request<Stats>("stats", { name })));
    const { userMs, systemMs } = await this.#agent.request<{ userMs: number; systemMs: number }>("cpu");
    const sum = (key: keyof Stats) => all.reduce((total, stats) => total + stats[key], 0);
    return {
      udpPackets: sum("udpPacketsOut"),
      udpBytes: sum("udpBytesOut"),
      tcpDials: sum("tcpDials"),
      tcpBytes: sum("tcpBytes"),
      cpuMs: userMs + systemMs,
    };
  }

  async #add(): Promise<void> {
    const name = `node-${String(this.#made++).padStart(3, "0")}`;
    const [seed] = this.#live.values();
    const fields = { name, bind: this.#host, port: 0, overrides: this.#overrides, lossOut: this.#lossOut };
    const { port } = await this.#agent.request<{ port: number }>("create", fields);
    if (seed !== undefined) await this.#agent.request("join", { name, addrs: [`${this.#host}:${seed}`] });
    this.#live.set(name, port);
  }

  async #replace(): Promise<void> {
    await this.#add();
    if (!(await this.#allSeeAll(newcomerMs))) this.missed.push(`a newcomer is not known everywhere after ${newcomerMs} ms`);
  }

  #next(): string {
    return [...this.#live.keys()][1] as string;
  }

  #take(name: string): number {
    const port = this.#live.get(name) as number;
    this.#live.delete(name);
    return port;
  }

  #remove(op: "shutdown" | "leave"): Promise<number> {
    const name = this.#next();
    this.#take(name);
    this.#gone.add(name);
    return this.#measure("leave", name, undefined, () => this.#agent.request(op, { name, timeoutMs: 10_000 }));
  }

  /** Milliseconds from the order to the last event; the longest time where one is missing then. */
  async #measure(event: string, member: string, meta: string | undefined, order: () => Promise<unknown>): Promise<number> {
    const views = [...(await this.#views())];
    const missing = new Set(views.filter(([name, present]) => name !== member && present.has(member)).map(([name]) => name));
    const done = new AbortController();
    const waiting = { event, member, meta, missing, lastAtMs: 0, resolve: () => done.abort() };
    this.#waiting.add(waiting);
    const startedMs = Date.now();
    const ordered = order();
    await delay(knownWithinMs, undefined, { signal: done.signal }).catch(() => {});
    this.#waiting.delete(waiting);
    for (const name of missing) this.missed.push(`${name} has heard of no ${event} of ${member}`);
    await ordered;
    return missing.size === 0 ? waiting.lastAtMs - startedMs : knownWithinMs;
  }

  #onEvent(event: AgentEvent): void {
    const { event: kind, node, member = "", atMs } = event;
    if (kind === "leave" && member !== node && !this.#gone.has(member)) this.falseDeaths.push(`${node} said ${member} is gone`);
    for (const waiting of this.#waiting) {
      if (waiting.event !== kind || waiting.member !== member) continue;
      if (waiting.meta !== undefined && waiting.meta !== event.meta) continue;
      if (!waiting.missing.delete(node)) continue;
      waiting.lastAtMs = Math.max(waiting.lastAtMs, atMs);
      if (waiting.missing.size > 0) continue;
      waiting.resolve();
    }
  }

  async #allSeeAll(withinMs: number): Promise<boolean> {
    const deadlineMs = Date.now() + withinMs;
    while (Date.now() < deadlineMs) {
      const names = [...this.#live.keys()];
      const views = await this.#views();
      if ([...views.values()].every((present) => names.every((name) => present.has(name)))) return true;
      // Members are asked again because a view can change without an event.
      await delay(200);
    }
    return false;
  }

  /** For each member, whom it takes for present. */
  async #views(): Promise<Map<string, Set<string>>> {
    const views = [...this.#live.keys()].map(async (name) => {
      const view = await this.#agent.request<{ name: string; state: string }[]>("members", { name });
      return [name, new Set(view.filter(({ state }) => state === "alive" || state === "suspect").map((member) => member.name))] as const;
    });
    return new Map(await Promise.all(views));
  }
}
