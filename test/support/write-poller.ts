import pg from "pg";

const pauseMs = 20;
const patienceMs = 1000;

/**
 * A plain client: it writes to every server, over and over, and notes when one of them took it. So it knows how long nobody could
 * have written, whatever stands between clients and servers.
 */
export class WritePoller {
  /** When writes were acknowledged. */
  readonly acknowledgedMs: number[] = [];
  readonly #loops: readonly Promise<void>[];
  #stopped = false;

  /** The servers need a table `polled (at bigint)`. */
  constructor(urls: readonly string[]) {
    this.#loops = urls.map((url) => this.#poll(url));
  }

  /** The table that it writes to. */
  static readonly table = "CREATE TABLE polled (at bigint)";

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #poll(url: string): Promise<void> {
    while (!this.#stopped) {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs });
      client.on("error", () => {});
      try {
        await client.connect();
        while (!this.#stopped) {
          await client.query("INSERT INTO polled VALUES ($1)", [Date.now()]);
          this.acknowledgedMs.push(performance.now());
          await pause();
        }
      } catch {
        // Not this one, or not yet.
      }
      // A server that hangs does not hear the farewell either.
      void client.end().catch(() => {});
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs));
}
