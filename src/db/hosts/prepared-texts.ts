import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import pg from "pg";

/** Which statements a server keeps prepared, so that it parses and plans them once for each connection. */
export interface PreparedOptions {
  /**
   * A single statement outside of transactions that has run this often on a server is prepared there from then on. 0: never.
   * docs/database.md says when not to turn it on. Default 0.
   */
  readonly prepareAfter: number;
  /** Prepared statements on one connection at most; further ones run as they are. Default 256. */
  readonly maxPrepared: number;
}

export const defaultPreparedOptions: PreparedOptions = { prepareAfter: 0, maxPrepared: 256 };

interface Text {
  runs: number;
  name: string | undefined;
}

// Texts put together from values are new each time: they push each other out before they count.
const maxTexts = 2000;
// What is that long is not run often, and its parsing is not what it costs.
const maxTextChars = 16 * 1024;

/** Counts how often texts run on one server, and names those that are worth preparing. */
export class PreparedTexts {
  readonly #options: PreparedOptions;
  readonly #onPooler: () => void;
  readonly #texts = new LRUCache<string, Text>({ max: maxTexts });
  #pooled = false;

  /** `onPooler` is called once, when it turns out that several connections to the server share ours. */
  constructor(options: PreparedOptions, onPooler: () => void) {
    this.#options = options;
    this.#onPooler = onPooler;
  }

  /** Notes a run; returns the name under which to prepare it on the connection, or to run what is prepared there. */
  nameFor(text: string, { prepared }: { readonly prepared: ReadonlySet<string> }): string | undefined {
    const { prepareAfter, maxPrepared } = this.#options;
    if (prepareAfter === 0 || this.#pooled || text.length > maxTextChars) return undefined;
    const known = this.#texts.get(text) ?? { runs: 0, name: undefined };
    if (known.runs === 0) this.#texts.set(text, known);
    if (known.runs++ < prepareAfter) return undefined;
    // Where connections are shared after all, the same name is the same text.
    known.name ??= `lb_${createHash("sha256").update(text).digest("hex").slice(0, 40)}`;
    return prepared.size < maxPrepared || prepared.has(known.name) ? known.name : undefined;
  }

  /** Whether the server refused what is prepared under a name, rather than the statement: then it has done nothing of it. */
  isRefused(name: string, error: unknown): boolean {
    if (!(error instanceof pg.DatabaseError)) return false;
    // The shape of the result is another one, since a table was changed.
    if (error.code === "0A000" && error.routine === "RevalidateCachedQuery") return true;
    // It is unknown, or known already: another server's connection, or somebody else's.
    if ((error.code !== "26000" && error.code !== "42P05") || !error.message.includes(name)) return false;
    if (!this.#pooled) {
      this.#pooled = true;
      this.#onPooler();
    }
    return true;
  }
}
