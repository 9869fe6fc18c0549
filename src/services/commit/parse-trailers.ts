/** A `Key: value` line at the end of a message; bytes in strings. */
export interface Trailer {
  readonly key: string;
  readonly value: string;
}

const trailerLine = /^([A-Za-z0-9-]+)[ \t]*:(.*)$/s;
const generatedPrefixes = ["Signed-off-by: ", "(cherry picked from commit "];

/**
 * The trailers of a commit message: those of its last paragraph, unless that is the title, where either every line is a
 * trailer, or one that git writes itself is there and at least a quarter of the lines are trailers.
 */
export function parseTrailers(message: string): readonly Trailer[] {
  const lines = message.split("\n").map((line) => line.replace(/\r$/, ""));
  let end = lines.length;
  while (end > 0 && isBlank(lines[end - 1])) end--;
  let start = end;
  while (start > 0 && !isBlank(lines[start - 1])) start--;
  const isTitle = lines.slice(0, start).every((line) => isBlank(line) || line.startsWith("#"));
  const block = lines.slice(start, end).filter((line) => !line.startsWith("#"));
  if (isTitle || !isTrailerBlock(block)) return [];

  const trailers: { key: string; value: string }[] = [];
  let open = false;
  for (const line of block) {
    const match = trailerLine.exec(line);
    if (/^\s/.test(line)) {
      const last = trailers.at(-1);
      // A folded value reads as one line.
      if (open && last) last.value = `${last.value} ${line.trim()}`.trim();
    } else if (match) {
      trailers.push({ key: match[1] as string, value: (match[2] as string).trim() });
      open = true;
    } else open = false;
  }
  return trailers;
}

function isTrailerBlock(lines: readonly string[]): boolean {
  let trailers = 0;
  let others = 0;
  let generated = false;
  let afterTrailer = false;
  for (const line of lines) {
    const isGenerated = generatedPrefixes.some((prefix) => line.startsWith(prefix));
    generated ||= isGenerated;
    if (isGenerated || trailerLine.test(line)) {
      trailers++;
      afterTrailer = true;
    } else if (!(afterTrailer && /^\s/.test(line))) {
      others++;
      afterTrailer = false;
    }
  }
  return trailers > 0 && (others === 0 || (generated && trailers * 3 >= others));
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}
