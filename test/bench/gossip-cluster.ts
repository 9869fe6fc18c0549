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
  readonly resolve: (lastAtMs: number) => void;
}

interface Stats {
  readonly udpPacketsOut: number;
  readonly udpBytesOut: number;
  readonly tcpDials: number;
  readonly tcpBytes: number;
}

const knownWithinMs = 90_000;

/** A cluster of members of one kind in one process. Its times are from the order until the last other member has said so. */
export class GossipCluster {
  /** Members that were said to be gone while they were there: who said it of whom. */
  readonly falseDeaths: string[] = [];
  readonly #agent: JsonAgent;
  readonly #overrides: object;
  readonly #waiting = new Set<Waiting>();
  /** Names and ports, the oldest first; the first one is never touched. */
  readonly #live = new Map<string, number>();
  readonly #gone = new Set<string>();
  #lossOut = 0;
  #made = 0;
  #metas = 0;

  constructor(options: { overrides: object }, deps: { agent: JsonAgent }) {
    this.#agent = deps.agent;
    this.#overrides = options.overrides;
    deps.agent.subscribe((event) => this.#onEvent(event));
  }

  get size(): number {
    return this.#live.size;
  }

  /** Adds `count` members, one after the other, and resolves when each sees all. */
  async grow(count: number): Promise<void> {
    const [seed] = this.#live.values();
    let through = seed;
    for (let i = 0; i < count; i++) {
      const name = `node-${String(this.#made++).padStart(3, "0")}`;
      const { port } = await this.#agent.request<{ port: number }>("create", {
        name,
        port: 0,
        overrides: this.#overrides,
        lossOut: this.#lossOut,
      });
      if (through !== undefined) await this.#agent.request("join", { name, addrs: [`127.0.0.1:${through}`] });
      through ??= port;
      this.#live.set(name, port);
    }
    await this.#untilAllSeeAll();
  }

  /** A member ends without a word; a new one takes its place. */
  async crash(): Promise<number> {
    const tookMs = await this.#remove("shutdown");
    await this.grow(1);
    return tookMs;
  }

  /** A member leaves; a new one takes its place. */
  async leave(): Promise<number> {
    const name = this.#next();
    const tookMs = await this.#remove("leave");
    await this.#agent.request("shutdown", { name });
    await this.grow(1);
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

  async #measure(event: string, member: string, meta: string | undefined, order: () => Promise<unknown>): Promise<number> {
    const missing = new Set([...this.#live.keys()].filter((name) => name !== member));
    const known = new Promise<number>((resolve) => this.#waiting.add({ event, member, meta, missing, lastAtMs: 0, resolve }));
    const stop = new AbortController();
    const startedMs = Date.now();
    const ordered = order();
    const late = delay(knownWithinMs, undefined, { signal: stop.signal }).then(() => {
      throw new Error(`${event} of ${member} is not known after ${knownWithinMs} ms at ${[...missing].join(", ")}`);
    });
    try {
      return (await Promise.race([known, late])) - startedMs;
    } finally {
      stop.abort();
      late.catch(() => {});
      await ordered;
    }
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
      this.#waiting.delete(waiting);
      waiting.resolve(waiting.lastAtMs);
    }
  }

  async #untilAllSeeAll(): Promise<void> {
    const deadlineMs = Date.now() + knownWithinMs;
    for (;;) {
      const counts = await Promise.all([...this.#live.keys()].map((name) => this.#seenBy(name)));
      if (counts.every((count) => count === this.#live.size)) return;
      if (Date.now() > deadlineMs) throw new Error(`${this.#live.size} members do not see each other: ${counts.join(" ")}`);
      // Members are asked again because a view can change without an event.
      await delay(200);
    }
  }

  async #seenBy(name: string): Promise<number> {
    const members = await this.#agent.request<{ name: string; state: string }[]>("members", { name });
    return members.filter((member) => this.#live.has(member.name) && member.state !== "dead" && member.state !== "left").length;
  }
}
