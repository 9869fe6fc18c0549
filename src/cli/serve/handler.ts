import { abortable, startDeadline } from "../../base/index.ts";
import { configInput } from "../config-options.ts";
import type { CliConfig, CliContext, CliServer } from "../context.ts";
import { plain } from "../output.ts";
import { readyBanner } from "./banner.ts";
import { listenForStop, type StopSignals } from "./stop-signals.ts";

const firstWaitMs = 300;
const nextWaitMs = 500;
const destroyTimeoutMs = 2000;
const leftBehind =
  "gitaly: not everything was closed in time; an embedded PostgreSQL may still run: the next node that uses its directory stops it at its end\n";

/** Runs a node until a signal, or until it cannot go on. */
export async function runServe(options: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const { deps, io } = context;
  const config = deps.loadConfig(configInput(options, context));
  if (config.ignored.length > 0) io.stdout(`ignored, they have no effect here: ${config.ignored.map(plain).join(", ")}\n`);
  using signals = listenForStop(io, deps.clock);
  const starting = deps.createServer(config);
  let server: CliServer;
  try {
    server = await abortable(starting, signals.atOnce);
  } catch (error) {
    if (!signals.atOnce.aborted) throw error;
    return 1;
  }
  try {
    await untilStop(server, config, context, signals);
    if (!signals.drain.aborted) return 0;
    io.stdout("draining; a second signal stops at once\n");
    await abortable(server.drain(), signals.atOnce);
    return 0;
  } catch (error) {
    using deadline = startDeadline(deps.clock, destroyTimeoutMs);
    const destroyed = server.destroy().then(() => true);
    if (!(await abortable(destroyed, deadline.signal).catch(() => false))) io.stderr(leftBehind);
    if (!signals.atOnce.aborted) throw error;
    return 1;
  }
}

/** Resolves when a signal asks to stop, or when the node has closed by itself. */
async function untilStop(server: CliServer, config: CliConfig, context: CliContext, signals: StopSignals): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    if (signals.drain.aborted) resolve();
    else signals.drain.addEventListener("abort", () => resolve(), { once: true });
  });
  const failed = announce(server, config, context, signals.drain).then(() => new Promise<never>(() => {}));
  await Promise.race([asked, server.closed, failed]);
}

/** Says what the node waits for while it does, and how to use it once it is ready. */
async function announce(server: CliServer, config: CliConfig, { deps, io }: CliContext, signal: AbortSignal): Promise<void> {
  const ready = server.whenReady(signal).then(() => true);
  const pause = new AbortController();
  let said = "";
  try {
    for (
      let waitMs = firstWaitMs;
      !(await Promise.race([ready, deps.clock.sleep(waitMs, pause.signal).then(() => false)]));
      waitMs = nextWaitMs
    ) {
      if (signal.aborted) return;
      const waitingFor = server.waitingFor();
      if (waitingFor !== "" && waitingFor !== said) io.stdout(`not ready yet: ${plain(waitingFor)}\n`);
      said = waitingFor;
    }
    io.stdout(readyBanner(server.info, config.advertiseHost));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    pause.abort();
  }
}
