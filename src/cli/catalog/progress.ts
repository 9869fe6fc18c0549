import type { CliContext, CliRebuildCounts } from "../context.ts";

const onTerminalEveryMs = 100;
const linesEveryMs = 5000;
const barWidth = 30;

/** How far a rebuild is, on stderr: a bar that is drawn over on a terminal, a line now and then elsewhere. */
export class RebuildProgress {
  readonly #context: CliContext;
  #shownAtMs: number;
  #drawn = 0;

  constructor(context: CliContext) {
    this.#context = context;
    this.#shownAtMs = context.deps.clock.monotonic();
  }

  show(counts: CliRebuildCounts): void {
    const { io, deps } = this.#context;
    const nowMs = deps.clock.monotonic();
    if (nowMs - this.#shownAtMs < (io.isTerminal ? onTerminalEveryMs : linesEveryMs)) return;
    this.#shownAtMs = nowMs;
    if (io.isTerminal) this.#draw(`${bar(counts)} ${text(counts)}`);
    else io.stderr(`gitaly: ${text(counts)}\n`);
  }

  /** A line of its own. */
  say(line: string): void {
    this.end();
    this.#context.io.stderr(`${line}\n`);
  }

  /** Wipes the bar away. */
  end(): void {
    if (this.#drawn > 0) this.#draw("");
    this.#drawn = 0;
  }

  #draw(line: string): void {
    this.#context.io.stderr(`\r${line.padEnd(this.#drawn)}${line === "" ? "\r" : ""}`);
    this.#drawn = line.length;
  }
}

/** Nobody has counted the rows, but there is one for most names. */
function bar({ stored, rows, lookedUp }: CliRebuildCounts): string {
  const share = stored === 0 ? 0 : (Math.min(rows, stored) + lookedUp) / (2 * stored);
  const done = Math.round(Math.min(1, share) * barWidth);
  return `[${"#".repeat(done)}${"-".repeat(barWidth - done)}]`;
}

function text({ stored, rows, lookedUp }: CliRebuildCounts): string {
  if (lookedUp > 0) return `${lookedUp} of ${stored} names looked up`;
  return rows > 0 ? `${rows} rows compared, ${stored} names in the store` : `${stored} names in the store so far`;
}
