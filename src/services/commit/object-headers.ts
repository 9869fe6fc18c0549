/** The headers of a commit or tag, and the message below them; all as bytes in a string. */
export interface ObjectHeaders {
  /** Value of the first header of that name. */
  first(name: string): string | undefined;
  all(name: string): readonly string[];
  readonly message: string;
}

/** Reads the headers of a commit or tag object. Anything is taken; what is no header is passed over. */
export function objectHeaders(content: Uint8Array): ObjectHeaders {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("latin1");
  const values = new Map<string, string[]>();
  let at = 0;
  let last: { values: string[] } | undefined;
  while (at < text.length && text[at] !== "\n") {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end);
    const space = line.indexOf(" ");
    if (space === 0) {
      if (last) last.values.push(`${last.values.pop()}\n${line.slice(1)}`);
    } else if (space > 0) {
      const name = line.slice(0, space);
      const known = values.get(name) ?? [];
      values.set(name, known);
      known.push(line.slice(space + 1));
      last = { values: known };
    }
    at = end + 1;
  }
  return {
    first: (name) => values.get(name)?.[0],
    all: (name) => values.get(name) ?? [],
    message: text.slice(at + 1),
  };
}
