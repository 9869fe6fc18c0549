/** The entries of a list with commas between them, without the blanks around them; empty ones do not count. */
export function commaList(text: string): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}
