import {
  abortable,
  type Clock,
  CodedError,
  linkSignals,
  type Random,
  Semaphore,
  sharedAbortController,
  startDeadline,
} from "../base/index.ts";
import type { Counter, Histogram, Metrics } from "../observability/index.ts";
import type { CreateResult, ListPage, ListRequest, ObjectStore, ObjectStream, PutBody } from "./object-store.ts";

/** Time, retries and concurrency of requests to the object store. */
export interface ManagedStoreOptions {
  /** Longest time for one small request, in milliseconds. Default 30,000. */
  readonly requestTimeoutMs: number;
  /** Longest silence while a body is read, in milliseconds. Default 30,000. */
  readonly idleTimeoutMs: number;
  /** Slowest upload that is waited for, in bytes per second; adds to `requestTimeoutMs`. Default 262,144. */
  readonly minBytesPerSecond: number;
  /** Most requests at a time. Default 64. */
  readonly maxConcurrency: number;
  /** Attempts of a request that may be repeated; create-only writes are never. Default 4. */
  readonly maxAttempts: number;
  /** First pause between attempts, in milliseconds; it doubles, with jitter. Default 100. */
  readonly retryDelayMs: number;
}

export const defaultManagedStoreOptions: ManagedStoreOptions = {
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  minBytesPerSecond: 256 * 1024,
  maxConcurrency: 64,
  maxAttempts: 4,
  retryDelayMs: 100,
};

export interface ManagedStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

/** A driver with deadlines, retries, a concurrency cap and metrics. Owns the driver. */
export class ManagedStore implements ObjectStore {
  readonly description: string;
  readonly #driver: ObjectStore;
  readonly #options: ManagedStoreOptions;
  readonly #deps: ManagedStoreDeps;
  readonly #places: Semaphore;
  readonly #requests: Counter;
  readonly #seconds: Histogram;
  #trouble = "";

  constructor(driver: ObjectStore, options: ManagedStoreOptions, deps: ManagedStoreDeps) {
    this.description = driver.description;
    this.#driver = driver;
    this.#options = options;
    this.#deps = deps;
    this.#places = new Semaphore(options.maxConcurrency, 10_000);
    this.#requests = deps.metrics.counter("gitaly_storage_requests_total", "Requests to the object store.", ["op", "outcome"]);
    this.#seconds = deps.metrics.histogram(
      "gitaly_storage_request_seconds",
      "Time of one request to the object store; of a download, until its first byte.",
      ["op"],
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    );
  }

  get trouble(): string {
    return this.#trouble;
  }

  get(key: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const timeoutMs = this.#options.requestTimeoutMs;
    return this.#repeat("get", timeoutMs, signal, (limited) => this.#driver.get(key, maxBytes, limited));
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectStream | undefined> {
    const place = await this.#places.acquire(signal);
    try {
      const timeoutMs = this.#options.requestTimeoutMs;
      const opened = await this.#retry(signal, () =>
        this.#timed("open", timeoutMs, signal, (limited) => this.#openOnce(key, signal, limited)),
      );
      if (!opened) {
        place[Symbol.dispose]();
        return undefined;
      }
      return {
        sizeBytes: opened.stream.sizeBytes,
        body: this.#watched(opened.stream.body, key, signal),
        [Symbol.asyncDispose]: async () => {
          opened.end();
          place[Symbol.dispose]();
          await opened.stream[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      place[Symbol.dispose]();
      throw error;
    }
  }

  put(key: string, body: PutBody, signal: AbortSignal): Promise<void> {
    const sizeBytes = body instanceof Uint8Array ? body.length : body.sizeBytes;
    const timeoutMs = this.#options.requestTimeoutMs + (sizeBytes / this.#options.minBytesPerSecond) * 1000;
    return this.#repeat("put", timeoutMs, signal, (limited) => this.#driver.put(key, body, limited));
  }

  async createIfAbsent(key: string, body: Uint8Array, signal: AbortSignal): Promise<CreateResult> {
    using _place = await this.#places.acquire(signal);
    let sent = false;
    try {
      return await this.#timed("create", this.#options.requestTimeoutMs, signal, async (limited) => {
        sent = true;
        return await abortable(this.#driver.createIfAbsent(key, body, limited), limited);
      });
    } catch (error) {
      // The driver rejects with an error of its own only when nothing was applied; a deadline that passed says nothing.
      const expired = signal.aborted || CodedError.is(error, "deadline_exceeded");
      if (!sent || !expired) throw error;
      return { outcome: "unknown", detail: "no answer in time", refused: false };
    }
  }

  list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    return this.#repeat("list", this.#options.requestTimeoutMs, signal, (limited) => this.#driver.list(request, limited));
  }

  delete(key: string, signal: AbortSignal): Promise<void> {
    return this.#repeat("delete", this.#options.requestTimeoutMs, signal, (limited) => this.#driver.delete(key, limited));
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#driver[Symbol.asyncDispose]();
  }

  /** `limited` ends the wait for the first byte only; the stream lives until it is closed or `signal` aborts. */
  async #openOnce(key: string, signal: AbortSignal, limited: AbortSignal): Promise<{ stream: ObjectStream; end: () => void } | undefined> {
    const own = sharedAbortController();
    const linked = linkSignals(signal, own.signal);
    const end = () => {
      own.abort(new CodedError("cancelled", "the stream was closed"));
      linked[Symbol.dispose]();
    };
    try {
      const stream = await abortable(this.#driver.open(key, linked.signal), limited);
      if (stream) return { stream, end };
      end();
      return undefined;
    } catch (error) {
      end();
      throw error;
    }
  }

  async #repeat<T>(op: string, timeoutMs: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using _place = await this.#places.acquire(signal);
    return await this.#retry(signal, () => this.#timed(op, timeoutMs, signal, (limited) => abortable(work(limited), limited)));
  }

  async #retry<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    for (let made = 1; ; made++) {
      try {
        return await attempt();
      } catch (error) {
        signal.throwIfAborted();
        if (made >= this.#options.maxAttempts || !isTransient(error)) throw error;
        const delayMs = this.#options.retryDelayMs * 2 ** (made - 1);
        await this.#deps.clock.sleep(delayMs * (0.5 + this.#deps.random.float()), signal);
      }
    }
  }

  async #timed<T>(op: string, timeoutMs: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = startDeadline(this.#deps.clock, timeoutMs, signal);
    const startedMs = this.#deps.clock.monotonic();
    let outcome = "ok";
    try {
      const answer = await work(deadline.signal);
      if (answer === undefined && (op === "get" || op === "open")) outcome = "absent";
      else if (op === "create") outcome = (answer as CreateResult).outcome;
      this.#trouble = outcome === "unknown" ? "the outcome of a write is unknown" : "";
      return answer;
    } catch (error) {
      outcome = CodedError.is(error) ? error.code : "error";
      // What a caller gave up, or asked for wrongly, says nothing about the store.
      if (!signal.aborted && outcome !== "invalid_argument") this.#trouble = error instanceof Error ? error.message : String(error);
      if (!signal.aborted && CodedError.is(error, "deadline_exceeded") && op !== "create") {
        throw new CodedError("store_unavailable", "the object store does not answer in time", { op, timeoutMs, transient: true });
      }
      throw error;
    } finally {
      this.#requests.add(1, { op, outcome });
      this.#seconds.observe((this.#deps.clock.monotonic() - startedMs) / 1000, { op });
    }
  }

  /** The body, with a limit on each silence of the store (not on the reader's own pauses). */
  async *#watched(body: AsyncIterable<Uint8Array>, key: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    for (;;) {
      using deadline = startDeadline(this.#deps.clock, this.#options.idleTimeoutMs, signal);
      let next: IteratorResult<Uint8Array>;
      try {
        next = await abortable(chunks.next(), deadline.signal);
      } catch (error) {
        if (signal.aborted || !CodedError.is(error, "deadline_exceeded")) throw error;
        throw new CodedError("store_unavailable", "the object store stopped sending", { op: "get", key, transient: true });
      }
      if (next.done) return;
      yield next.value;
    }
  }
}

function isTransient(error: unknown): boolean {
  return CodedError.is(error, "store_unavailable") && error.fields["transient"] === true;
}
