import { CodedError } from "../../base/index.ts";
import { configInput } from "../config-options.ts";
import type { CliContext, CliPrimary } from "../context.ts";
import { plain } from "../output.ts";
import { listenForStop } from "../serve/stop-signals.ts";

/** Options of `db watch`: where the database is, and its own. */
export interface WatchOptions extends Readonly<Record<string, unknown>> {
  readonly onChange: string;
  readonly once?: boolean;
}

const lookEveryMs = 200;
const firstRetryMs = 1000;
const maxRetryMs = 30_000;
const onceTries = 3;
const onceTimeoutMs = 60_000;

/** Runs a command when the primary is another one than at its last success; tries again, for the newest one, where it fails. */
export async function runDbWatch({ onChange, once, ...flags }: WatchOptions, context: CliContext): Promise<number> {
  const { deps, io } = context;
  const config = deps.loadConfig(configInput(flags, context));
  using stop = listenForStop(io, deps.clock);
  await using servers = await deps.watchDatabase(config);
  const startedMs = deps.clock.monotonic();
  const state = new Runs();
  for (;;) {
    if (stop.drain.aborted) return 0;
    const nowMs = deps.clock.monotonic();
    const primary = servers.primary();
    if (primary && state.isDue(primary, nowMs)) {
      const outcome = await deps.runHook(onChange, { ...io.env, ...hookEnv(primary, state.done) }, stop.drain);
      if (stop.drain.aborted) return 0;
      state.ran(primary, outcome === 0, deps.clock.monotonic());
      const name = plain(primary.name);
      io.stderr(outcome === 0 ? `gitaly: ${name} is the primary\n` : `gitaly: for ${name} the command failed: ${outcome}\n`);
      if (once && outcome === 0) return 0;
      if (once && state.failures >= onceTries) return 1;
    } else if (once && !primary && nowMs - startedMs > onceTimeoutMs) {
      throw new CodedError("database_unavailable", "no primary was found");
    }
    await deps.clock.sleep(lookEveryMs, stop.drain).catch(() => {});
  }
}

/** When a run is due. */
class Runs {
  /** The primary of the last successful run. */
  done: CliPrimary | undefined;
  failures = 0;
  #tried: string | undefined;
  #retryAtMs = 0;

  isDue({ name }: CliPrimary, nowMs: number): boolean {
    // One that was tried in vain may have been told in part, so that the one before has to be told again.
    return name !== this.#tried || nowMs >= this.#retryAtMs;
  }

  ran(primary: CliPrimary, ok: boolean, nowMs: number): void {
    this.failures = ok ? 0 : primary.name === this.#tried ? this.failures + 1 : 1;
    this.#tried = primary.name;
    if (ok) this.done = primary;
    this.#retryAtMs = ok ? Number.POSITIVE_INFINITY : nowMs + Math.min(maxRetryMs, firstRetryMs * 2 ** (this.failures - 1));
  }
}

/** Values, never parts of a command: whatever they hold, the shell does not read them. */
function hookEnv(primary: CliPrimary, before: CliPrimary | undefined): Record<string, string> {
  return {
    DBLB_PRIMARY: primary.name,
    DBLB_PRIMARY_HOST: primary.host,
    DBLB_PRIMARY_PORT: String(primary.port),
    DBLB_PREVIOUS_PRIMARY: before?.name ?? "",
  };
}
