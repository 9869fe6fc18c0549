const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text from elsewhere made safe for a terminal: control and direction characters become U+FFFD. */
export function plain(text: string): string {
  return text.replace(hidden, "\ufffd");
}

/** A table with a header line, columns as wide as their content. */
export function formatTable(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [header, ...rows.map((row) => row.map((cell) => plain(String(cell)) || "-"))];
  const widths = header.map((_, column) => cells.reduce((width, row) => Math.max(width, [...(row[column] ?? "")].length), 0));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => padEnd(cell, widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Lines of `name  value`, the values below each other. */
export function formatPairs(pairs: readonly (readonly [name: string, value: string | number])[]): string {
  const width = pairs.reduce((widest, [name]) => Math.max(widest, name.length), 0);
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value)) || "-"}\n`).join("");
}

/** Indented JSON with a newline at its end; what a terminal would act on is escaped. */
export function formatJson(value: unknown): string {
  const json = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? item.toString() : item), 2);
  return `${json.replace(/[\u007f-\u009f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)}\n`;
}

/** Bytes for people: `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}

/** Seconds for people: `3d 4h`, `12m 5s`. */
export function formatSeconds(seconds: number): string {
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first < 0) return "0s";
  return parts
    .slice(first, first + 2)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join(" ");
}

function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - [...text].length));
}
