import { loadModule, parseSync } from "libpg-query";

// The parser is WebAssembly and loads asynchronously, once; waiting here keeps `classify` an ordinary function.
await loadModule();

/** A node of PostgreSQL's syntax tree, as JSON. */
export type SyntaxNode = Readonly<Record<string, unknown>>;

/** The statements of an SQL text. Throws where PostgreSQL's grammar does not accept it. */
export function parseStatements(text: string): readonly SyntaxNode[] {
  const result = parseSync(text);
  return (result.stmts ?? []).map((raw) => (raw.stmt ?? {}) as SyntaxNode);
}
