import { LRUCache } from "lru-cache";
import { type Analysis, analyse, type StatementKind } from "./analyse.ts";

/** What kind of statement an SQL text is, and why. */
export interface Classification {
  readonly kind: StatementKind;
  /** Short phrases for people and logs, such as "FOR UPDATE" or "function nextval"; empty for a plain read. */
  readonly reasons: string[];
}

/** How statements are classed. */
export interface ClassifierOptions {
  /** Functions of yours that only read, as they are written in SQL: `"f"` or `"schema.f"`. Default none. */
  readonly pureFunctions: readonly string[];
  /** Texts remembered. Default 5000. */
  readonly cacheEntries: number;
  /** Characters of all remembered texts. Default 8 Mi. */
  readonly cacheChars: number;
  /** Longer texts are classed anew each time. Default 16 Ki characters. */
  readonly maxCachedChars: number;
  /** Longer texts are not parsed at all and count as ambiguous. Default 64 Ki characters. */
  readonly maxParsedChars: number;
}

export const defaultClassifierOptions: ClassifierOptions = {
  pureFunctions: [],
  cacheEntries: 5000,
  cacheChars: 8 * 1024 * 1024,
  maxCachedChars: 16 * 1024,
  maxParsedChars: 64 * 1024,
};

const tooLong: Analysis = {
  kind: "ambiguous",
  reasons: ["too long to parse"],
  statementCount: 1,
  leavesState: true,
  bound: false,
  controlsTransaction: false,
  changesMode: true,
  listens: false,
};

/** Classes statements with PostgreSQL's own grammar and remembers the answers by exact text. */
export class Classifier {
  readonly #options: ClassifierOptions;
  readonly #pureFunctions: ReadonlySet<string>;
  readonly #cache: LRUCache<string, Analysis>;

  constructor(options: Partial<ClassifierOptions> = {}) {
    this.#options = { ...defaultClassifierOptions, ...options };
    this.#pureFunctions = new Set(this.#options.pureFunctions);
    this.#cache = new LRUCache({
      max: this.#options.cacheEntries,
      maxSize: this.#options.cacheChars,
      sizeCalculation: (_value, text) => text.length + 64,
    });
  }

  /** Everything known of `text`. Never throws. */
  analyse(text: string): Analysis {
    const known = this.#cache.get(text);
    if (known) return known;
    const { maxParsedChars, maxCachedChars } = this.#options;
    const analysis: Analysis = text.length > maxParsedChars ? tooLong : analyse(text, this.#pureFunctions);
    if (text.length <= maxCachedChars) this.#cache.set(text, analysis);
    return analysis;
  }

  /** Remembers that a server refused `text` as a write, whatever it looks like. */
  learnWrite(text: string): void {
    if (text.length > this.#options.maxCachedChars) return;
    const before = this.analyse(text);
    this.#cache.set(text, { ...before, kind: "write", reasons: [...before.reasons, "a standby refused it"] });
  }
}

const shared = new Classifier();

/** Classes an SQL text: `{ kind: "read", reasons: [] }` for a plain query. Never throws; what cannot be told apart is "ambiguous". */
export function classify(text: string): Classification {
  const { kind, reasons } = shared.analyse(text);
  return { kind, reasons: [...reasons] };
}
