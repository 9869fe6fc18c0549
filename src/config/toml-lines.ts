const bareKey = /^[A-Za-z0-9_-]+$/;

/** The name of a key or table: its segments joined by dots, quoted where TOML needs it. */
export function tomlName(segments: readonly string[]): string {
  return segments.map((segment) => (bareKey.test(segment) ? segment : JSON.stringify(segment))).join(".");
}

/** Below `name`: the entry `index` of an array. */
export function tomlIndex(name: string, index: number): string {
  return `${name}[${index}]`;
}

/**
 * The line, from 1, on which each key and each table of a valid TOML text first stands, by its name (array entries as
 * `name[0]`). The parser in use tells positions only for syntax errors.
 */
export function tomlLines(toml: string): ReadonlyMap<string, number> {
  return new Scanner(toml).run();
}

/** Walks text that a real parser has accepted, so it only has to find where things begin and end. */
class Scanner {
  readonly #text: string;
  #at = 0;
  #line = 1;
  #counted = 0;
  readonly #lines = new Map<string, number>();
  readonly #arrayLengths = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  run(): ReadonlyMap<string, number> {
    let table = "";
    for (this.#skipBlank(); this.#at < this.#text.length; this.#skipBlank()) {
      if (this.#text[this.#at] === "[") table = this.#header();
      else this.#pair(table);
    }
    return this.#lines;
  }

  #header(): string {
    const start = this.#at;
    const isArray = this.#text[start + 1] === "[";
    this.#at += isArray ? 2 : 1;
    const segments = this.#keyPath();
    this.#at += isArray ? 2 : 1;
    let name = "";
    segments.forEach((segment, index) => {
      name = join(name, segment);
      if (isArray && index === segments.length - 1) this.#arrayLengths.set(name, (this.#arrayLengths.get(name) ?? 0) + 1);
      const length = this.#arrayLengths.get(name);
      this.#note(name, start);
      if (length !== undefined) name = tomlIndex(name, length - 1);
    });
    this.#note(name, start);
    return name;
  }

  #pair(table: string): void {
    const start = this.#at;
    const segments = this.#keyPath();
    this.#at++;
    let name = table;
    for (const segment of segments) {
      name = join(name, segment);
      this.#note(name, start);
    }
    this.#value(name);
  }

  #keyPath(): string[] {
    const segments: string[] = [];
    for (;;) {
      this.#skipSpace();
      const quote = this.#text[this.#at];
      if (quote === '"' || quote === "'") {
        const raw = this.#string();
        segments.push(quote === '"' ? unescaped(raw) : raw);
      } else {
        const start = this.#at;
        while (/[A-Za-z0-9_-]/.test(this.#text[this.#at] ?? "")) this.#at++;
        segments.push(this.#text.slice(start, this.#at));
      }
      this.#skipSpace();
      if (this.#text[this.#at] !== ".") return segments;
      this.#at++;
    }
  }

  #value(name: string): void {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") this.#string();
    else if (first === "{") this.#entries("}", () => this.#pair(name));
    else if (first === "[") this.#entries("]", (index) => this.#element(tomlIndex(name, index)));
    else while (this.#at < this.#text.length && !/[,\]}\n#]/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #element(name: string): void {
    this.#note(name, this.#at);
    this.#value(name);
  }

  #entries(close: string, read: (index: number) => void): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#skipBlank();
      if (this.#at >= this.#text.length || this.#text[this.#at] === close) break;
      read(index);
      this.#skipBlank();
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  /** Steps over a string of any of the four kinds; returns what is between its quotes. */
  #string(): string {
    const quote = this.#text[this.#at] ?? "";
    const long = this.#text.startsWith(quote.repeat(3), this.#at);
    const close = long ? quote.repeat(3) : quote;
    const start = this.#at + close.length;
    let end = start;
    while (end < this.#text.length && !this.#text.startsWith(close, end)) end += quote === '"' && this.#text[end] === "\\" ? 2 : 1;
    // Up to two quotes may stand right before the closing three and belong to the string.
    if (long) while (this.#text[end + 3] === quote) end++;
    this.#at = end + close.length;
    return this.#text.slice(start, end);
  }

  #skipSpace(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at++;
  }

  #skipBlank(): void {
    for (;;) {
      while (/[ \t\r\n\ufeff]/.test(this.#text[this.#at] ?? "")) this.#at++;
      if (this.#text[this.#at] !== "#") return;
      while (this.#at < this.#text.length && this.#text[this.#at] !== "\n") this.#at++;
    }
  }

  #note(name: string, at: number): void {
    for (; this.#counted < at; this.#counted++) if (this.#text[this.#counted] === "\n") this.#line++;
    if (!this.#lines.has(name)) this.#lines.set(name, this.#line);
  }
}

function join(table: string, segment: string): string {
  return table === "" ? tomlName([segment]) : `${table}.${tomlName([segment])}`;
}

/** The escapes of a TOML basic string on one line. */
function unescaped(raw: string): string {
  return raw.replace(
    /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))/gs,
    (_, u4?: string, u8?: string, x2?: string, short?: string) => {
      const hex = u4 ?? u8 ?? x2;
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      return { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b" }[short ?? ""] ?? short ?? "";
    },
  );
}
