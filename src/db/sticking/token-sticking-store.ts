import { formatPosition, greater, type Position } from "../position/position.ts";
import type { NotedPosition, PositionTokens, TokenVerdict } from "./position-tokens.ts";
import type { StickingStore } from "./sticking-store.ts";

const maxTokens = 16;

/** Sticking that travels with the caller: what it knows is what the token said and what was written since. One per unit of work. */
export class TokenStickingStore implements StickingStore {
  /** What was thought of each token; whatever is not valid counts for nothing. */
  readonly verdicts: readonly TokenVerdict["verdict"][];
  /** Tokens beyond the sixteenth, which are not looked at. */
  readonly surplus: number;
  readonly #tokens: PositionTokens;
  readonly #noted = new Map<string, NotedPosition>();

  /** `given`: the tokens of a caller with several calls in flight may be several; 16 are read. */
  constructor(given: readonly string[], deps: { readonly tokens: PositionTokens }) {
    this.#tokens = deps.tokens;
    const judged = given.slice(0, maxTokens).map((token) => deps.tokens.verify(token));
    this.verdicts = judged.map(({ verdict }) => verdict);
    this.surplus = given.length - judged.length;
    for (const one of judged) {
      if (one.verdict !== "valid") continue;
      for (const [key, noted] of one.positions) this.#keep(key, noted);
    }
  }

  /** The token to hand back to the caller; undefined where there is nothing to remember. */
  get token(): string | undefined {
    const fresh = [...this.#noted].filter(([, noted]) => this.#tokens.isFresh(noted));
    return fresh.length > 0 ? this.#tokens.sign(new Map(fresh)) : undefined;
  }

  async read(keys: readonly string[]): Promise<readonly (Position | undefined)[]> {
    return keys.map((key) => this.#current(key)?.position);
  }

  async write(keys: readonly string[], position: Position): Promise<void> {
    for (const key of keys) this.#keep(key, this.#tokens.note(position));
  }

  async release(key: string, seen: Position): Promise<void> {
    const stored = this.#current(key);
    if (stored && formatPosition(stored.position) === formatPosition(seen)) this.#noted.delete(key);
  }

  /** A caller's tokens come in any order: what was noted last says when it is forgotten. */
  #keep(key: string, { position, notedAtMs }: NotedPosition): void {
    const stored = this.#current(key);
    const merged = stored && { position: greater(stored.position, position), notedAtMs: Math.max(stored.notedAtMs, notedAtMs) };
    this.#noted.set(key, merged ?? { position, notedAtMs });
  }

  #current(key: string): NotedPosition | undefined {
    const noted = this.#noted.get(key);
    return noted && this.#tokens.isFresh(noted) ? noted : undefined;
  }
}
