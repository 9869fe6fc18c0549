import type { Clock } from "../base/index.ts";
import type { Outbox } from "./outbox.ts";
import { keepAlivePkt, sideBand } from "./side-band.ts";

/**
 * Passes on what a user may see of index-pack's stderr: progress, and complaints about objects. Other lines may name local paths.
 */
export function progressFilter(outbox: Outbox): (chunk: Uint8Array) => void {
  let partial = "";
  return (chunk) => {
    const pieces = (partial + Buffer.from(chunk).toString("latin1")).split(/(?<=[\r\n])/);
    partial = /[\r\n]$/.test(pieces.at(-1) ?? "") ? "" : (pieces.pop() ?? "").slice(0, 4096);
    for (const piece of pieces) {
      if (/^(Resolving deltas: |error: object [0-9a-f]+: )/.test(piece)) outbox.put(Buffer.from(piece, "latin1"));
    }
  };
}

export interface PumpOptions {
  readonly keepAliveMs: number;
  readonly clock: Clock;
}

/** Sends what comes into `outbox` on band 2, and a sign of life where nothing comes, until `work` ends. Never throws for `work`. */
export async function* pumpProgress(
  work: Promise<unknown>,
  outbox: Outbox,
  options: PumpOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let ended = false;
  let wake = () => {};
  const onEnd = () => {
    ended = true;
    wake();
  };
  work.then(onEnd, onEnd);
  // Let an end that is already there be seen first.
  await Promise.resolve();
  for (;;) {
    for (const chunk of outbox.take()) yield* sideBand(2, chunk);
    if (ended) return;
    const isIdle = await new Promise<boolean>((resolve) => {
      const timer = options.clock.timer(options.keepAliveMs, () => resolve(true));
      wake = () => {
        timer[Symbol.dispose]();
        resolve(false);
      };
      outbox.onPut(wake);
    });
    outbox.onPut(undefined);
    if (isIdle) yield keepAlivePkt;
  }
}
