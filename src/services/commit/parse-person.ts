/** An author, committer or tagger line, taken apart; bytes in strings. */
export interface Person {
  readonly name: string;
  readonly email: string;
  /** Since 1970; NaN where the line has a date that is none, undefined where it has nothing in its place. */
  readonly seconds: number | undefined;
  /** As written, for example "+0900". */
  readonly timezone: string;
}

const latestSeconds = 2 ** 53;

/** Takes a person's line apart the way git does, as far as it goes: nothing is refused. */
export function parsePerson(line: string): Person {
  const open = line.indexOf("<");
  if (open === -1) return { name: line.trimEnd(), email: "", seconds: undefined, timezone: "" };
  const name = line.slice(0, open).replace(/ $/, "");
  const close = line.indexOf(">", open);
  if (close === -1) return { name, email: "", seconds: undefined, timezone: "" };
  // Broken mail addresses hold more brackets; the date stands behind the last.
  const [date, timezone = ""] = line
    .slice(line.lastIndexOf(">") + 1)
    .split(" ")
    .filter((word) => word !== "");
  return { name, email: line.slice(open + 1, close), seconds: date === undefined ? undefined : parseSeconds(date), timezone };
}

function parseSeconds(date: string): number {
  const seconds = /^\d+$/.test(date) ? Number(date) : Number.NaN;
  return seconds <= latestSeconds ? seconds : Number.NaN;
}
