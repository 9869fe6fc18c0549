import type { LoadBalancer } from "../../src/db/index.ts";
import type { ClientHistory, ReadEvent, WriteEvent } from "./client-history.ts";

const keys = ["a", "b", "c", "d"];
const tickMs = 50;
/** More unfinished sessions of one kind than this are not begun: what hangs shall not pile up. */
const maxRunning = 40;
/** Sessions of readers in a tick, whether they stick, and their reads; with the writer's own read there are ten. */
const readers = [
  { sticky: true, reads: 3 },
  { sticky: true, reads: 3 },
  { sticky: false, reads: 3 },
];

/** Makes the tables; `url`: of the primary. */
export const loadTables = [
  "CREATE TABLE register (key text PRIMARY KEY, value int NOT NULL)",
  "CREATE TABLE written (value int PRIMARY KEY)",
  `INSERT INTO register SELECT key, 0 FROM unnest(ARRAY[${keys.map((key) => `'${key}'`).join(", ")}]) AS key`,
].join("; ");

const writeText = `WITH noted AS (INSERT INTO written (value) VALUES ($2))
UPDATE register SET value = greatest(value, $2) WHERE key = $1`;

/**
 * Clients that write a register and read it ten times every 50 ms, in sessions that stick to the register's key, and that write
 * down what they did and were told. Readers use the other load balancer than the writer, as another process would.
 */
export class ClientLoad {
  readonly #balancers: readonly LoadBalancer[];
  readonly #writes: WriteEvent[] = [];
  readonly #reads: ReadEvent[] = [];
  /** What failed, by kind, how often. */
  readonly failures = new Map<string, number>();
  readonly #running = { write: new Set<Promise<void>>(), sticky: new Set<Promise<void>>(), free: new Set<Promise<void>>() };
  readonly #timer: NodeJS.Timeout;
  #sessions = 0;
  #ticks = 0;

  constructor(balancers: readonly LoadBalancer[]) {
    this.#balancers = balancers;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** What happened so far. */
  get history(): ClientHistory {
    return { writes: this.#writes, reads: this.#reads };
  }

  /** Begins nothing more and waits for what runs. */
  async stop(): Promise<ClientHistory> {
    clearInterval(this.#timer);
    await Promise.all(Object.values(this.#running).flatMap((running) => [...running]));
    return this.history;
  }

  #tick(): void {
    const tick = this.#ticks++;
    this.#begin("write", () => this.#write(this.#balancer(tick), this.#key(tick), tick + 1));
    for (const [i, { sticky, reads }] of readers.entries()) {
      this.#begin(sticky ? "sticky" : "free", () => this.#readSession(this.#balancer(tick + 1), this.#key(tick + 3 - i), sticky, reads));
    }
  }

  #begin(kind: "write" | "sticky" | "free", work: () => Promise<void>): void {
    const all = this.#running[kind];
    if (all.size >= maxRunning) return;
    const running = work().finally(() => all.delete(running));
    all.add(running);
  }

  async #write(lb: LoadBalancer, key: string, value: number): Promise<void> {
    const session = this.#sessions++;
    const startMs = performance.now();
    let endMs = startMs;
    let outcome: WriteEvent["outcome"] = "unknown";
    const stick = { stick: [["register", key]] } as const;
    await lb.session(stick, async () => {
      try {
        await lb.query(writeText, [key, value]);
        outcome = "acknowledged";
      } catch (error) {
        outcome = this.#failed("write", error) === "database_unavailable" ? "refused" : "unknown";
      }
      endMs = performance.now();
      if (outcome === "acknowledged") await this.#read(lb, key, { session, sessionMs: startMs, sticky: true });
    });
    this.#writes.push({ session, key, value, startMs, endMs, outcome, publishedMs: performance.now() });
  }

  async #readSession(lb: LoadBalancer, key: string, sticky: boolean, reads: number): Promise<void> {
    const session = { session: this.#sessions++, sessionMs: performance.now(), sticky };
    await lb.session(sticky ? { stick: [["register", key]] } : {}, async () => {
      for (let i = 0; i < reads; i++) await this.#read(lb, key, session);
    });
  }

  async #read(lb: LoadBalancer, key: string, session: Pick<ReadEvent, "session" | "sessionMs" | "sticky">): Promise<void> {
    const startMs = performance.now();
    let value: number | undefined;
    try {
      value = (await lb.query<{ value: number }>("SELECT value FROM register WHERE key = $1", [key])).rows[0]?.value;
    } catch (error) {
      this.#failed(session.sticky ? "sticky read" : "read", error);
    }
    this.#reads.push({ ...session, key, startMs, endMs: performance.now(), value });
  }

  #failed(what: string, error: unknown): string {
    const { code, message } = error as { code?: string; message: string };
    const kind = `${what}: ${code ?? message}`;
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1);
    return code ?? message;
  }

  #balancer(i: number): LoadBalancer {
    return this.#balancers[i % this.#balancers.length] as LoadBalancer;
  }

  #key(i: number): string {
    return keys[i % keys.length] as string;
  }
}
