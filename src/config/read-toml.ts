import { parse, TomlError } from "smol-toml";
import { ignoredKey } from "./ignored-keys.ts";
import { keys } from "./keys.ts";
import { notBuiltKey } from "./not-built.ts";
import type { Problem } from "./problems.ts";
import { suggest } from "./suggest.ts";
import { tomlIndex, tomlLines, tomlName } from "./toml-lines.ts";

const maxFileChars = 1 << 20;
const maxDepth = 32;

/** What a configuration file says. */
export interface TomlContent {
  /** Values of known keys, as the parser gives them, with their lines. */
  readonly values: ReadonlyMap<string, { readonly value: unknown; readonly line: number }>;
  /** Keys of Gitaly's that have no effect here. */
  readonly ignored: readonly string[];
  readonly problems: readonly Problem[];
}

/** Reads a file's text. All that is wrong with its keys is listed, nothing is thrown. `path` is for messages. */
export function readToml(text: string, path: string): TomlContent {
  const failed = (line: number | undefined, message: string): TomlContent => ({
    values: new Map(),
    ignored: [],
    problems: [{ code: "bad_config", where: line === undefined ? path : `${path}:${line}`, name: "", message }],
  });
  if (text.length > maxFileChars) return failed(undefined, "the file is larger than 1 MiB");
  let root: Record<string, unknown>;
  try {
    root = parse(text, { integersAsBigInt: "asNeeded", maxDepth });
  } catch (error) {
    // The parser's message goes on with the line itself, which may hold a secret.
    if (error instanceof TomlError)
      return failed(error.line, (error.message.split("\n")[0] ?? "").replace("Invalid TOML document", "not valid TOML"));
    throw error;
  }
  return new Reader(path, tomlLines(text)).read(root);
}

class Reader {
  readonly #path: string;
  readonly #lines: ReadonlyMap<string, number>;
  readonly #values = new Map<string, { value: unknown; line: number }>();
  readonly #ignored = new Set<string>();
  readonly #problems: Problem[] = [];

  constructor(path: string, lines: ReadonlyMap<string, number>) {
    this.#path = path;
    this.#lines = lines;
  }

  read(root: Record<string, unknown>): TomlContent {
    for (const [segment, value] of Object.entries(root)) this.#entry(tomlName([segment]), tomlName([segment]), value, 1);
    return { values: this.#values, ignored: [...this.#ignored], problems: this.#problems };
  }

  /** `name` says which key it is, `place` also which entry of an array it stands in. */
  #entry(name: string, place: string, value: unknown, depth: number): void {
    const unbuilt = notBuiltKey(name, isTables(value) ? "array" : "table");
    const isFullTable = isTable(value) && Object.keys(value).length > 0;
    // Each key of such a table is listed, an array of tables once.
    if (unbuilt && !isFullTable) this.#problem("not_built_yet", place, unbuilt.sentence);
    else if (ignoredKey(name)) this.#ignored.add(name);
    else if (Object.hasOwn(keys, name)) this.#values.set(name, { value, line: this.#lineOf(place) });
    else if (depth > maxDepth) this.#problem("bad_config", place, "nested too deeply");
    else if (isTable(value)) this.#table(name, place, value, depth);
    else if (isTables(value) && value.length > 0) {
      for (const [index, table] of value.entries()) this.#table(name, tomlIndex(place, index), table, depth);
    } else this.#problem("bad_config", place, isPartOfKey(name) ? "must be a table" : `unknown key${suggest(name, Object.keys(keys))}`);
  }

  #table(name: string, place: string, table: Record<string, unknown>, depth: number): void {
    const entries = Object.entries(table);
    if (entries.length === 0 && !isPartOfKey(name)) this.#problem("bad_config", place, "unknown table");
    for (const [segment, value] of entries) {
      const own = tomlName([segment]);
      this.#entry(`${name}.${own}`, `${place}.${own}`, value, depth + 1);
    }
  }

  #lineOf(place: string): number {
    return this.#lines.get(place) ?? 1;
  }

  #problem(code: Problem["code"], place: string, message: string): void {
    this.#problems.push({ code, where: `${this.#path}:${this.#lineOf(place)}`, name: place, message });
  }
}

function isPartOfKey(table: string): boolean {
  return Object.keys(keys).some((name) => name.startsWith(`${table}.`));
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isTables(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every(isTable);
}
