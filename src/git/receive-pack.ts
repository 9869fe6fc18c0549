import type { ByteString } from "../base/index.ts";
import { abortOnReturn } from "./abort-on-return.ts";
import { Connectivity } from "./connectivity.ts";
import type { PushCommand, ReceivePackOptions } from "./git.ts";
import { Outbox } from "./outbox.ts";
import { PktReader } from "./pkt-line.ts";
import { Push, type PushDeps, type PushLimits } from "./push.ts";
import { PushBody } from "./push-body.ts";
import { pumpProgress } from "./push-progress.ts";
import { pushReport } from "./push-report.ts";
import { readPushRequest } from "./push-request.ts";
import { Quarantine } from "./quarantine.ts";
import type { RepositoryView } from "./repository-view.ts";
import { untilAborted } from "./until-aborted.ts";

export interface ReceivePackLimits extends PushLimits {
  /** Bytes of one push's commands and options; default 32 MiB. */
  readonly maxCommandBytes: number;
}

/** The server's side of git-receive-pack. */
export class ReceivePack {
  readonly #limits: ReceivePackLimits;
  readonly #deps: PushDeps;

  constructor(limits: ReceivePackLimits, deps: PushDeps) {
    this.#limits = limits;
    this.#deps = deps;
  }

  serve(view: RepositoryView, body: AsyncIterable<Uint8Array>, options: ReceivePackOptions): AsyncIterable<Uint8Array> {
    return abortOnReturn(options.signal, (signal) => this.#run(view, body, { ...options, signal }));
  }

  async disconnected(
    view: RepositoryView,
    quarantineDir: string,
    commands: readonly PushCommand[],
    signal: AbortSignal,
  ): Promise<readonly ByteString[]> {
    const quarantine = new Quarantine(quarantineDir, await view.snapshot(signal), this.#deps);
    await quarantine.prepare();
    return await new Connectivity(this.#deps.gate).disconnected(view, quarantine.directories, commands, signal);
  }

  async *#run(
    view: RepositoryView,
    stream: AsyncIterable<Uint8Array>,
    options: ReceivePackOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = new PktReader({ maxBytes: this.#limits.maxCommandBytes }, untilAborted(stream, options.signal));
    try {
      const request = await readPushRequest(reader, view.objectFormat);
      // Before a long push a client sends an empty one, to see whether it may.
      if (!request) return await reader.drain(this.#limits.maxCommandBytes);
      const outbox = new Outbox();
      const body = new PushBody(reader.rest());
      const work = new Push(this.#limits, this.#deps, { view, request, outbox, options }).run(body);
      try {
        // Some clients do not listen before they have said everything.
        await Promise.race([body.ended, work]);
        if (request.capabilities.has("side-band-64k")) {
          yield* pumpProgress(work, outbox, { clock: this.#deps.clock, keepAliveMs: this.#limits.keepAliveMs });
        }
        yield* pushReport(request, await work);
      } finally {
        await Promise.allSettled([work]);
      }
    } finally {
      reader.close();
    }
  }
}
