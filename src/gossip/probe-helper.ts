import type { Clock } from "../base/index.ts";
import type { Acks } from "./acks.ts";
import { bytesToIp, type GossipAddress } from "./address.ts";
import type { IndirectPingMessage, PacketMessage, Source } from "./codec/message.ts";

export interface ProbeHelperOptions {
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
}

export interface ProbeHelperDeps {
  readonly clock: Clock;
  readonly acks: Acks;
  readonly source: () => Source;
  readonly send: (to: GossipAddress, messages: readonly PacketMessage[]) => void;
}

/** Probes that are run for others at one time; more are not answered. */
const maxProbes = 128;
/** A negative answer leaves after this share of the asker's remaining time, so that it arrives before the asker gives up. */
const nackShare = 0.8;

/** Probes nodes on behalf of others and passes the answer on. */
export class ProbeHelper implements Disposable {
  readonly #options: ProbeHelperOptions;
  readonly #deps: ProbeHelperDeps;
  readonly #running = new Set<Disposable>();

  constructor(options: ProbeHelperOptions, deps: ProbeHelperDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  [Symbol.dispose](): void {
    for (const probe of this.#running) probe[Symbol.dispose]();
  }

  /** Serves one request; the answer goes to `asker`. */
  serve(request: IndirectPingMessage, asker: GossipAddress): void {
    const host = bytesToIp(request.target);
    if (host === undefined || request.port === 0 || this.#running.size >= maxProbes) return;
    const { clock, acks, send, source } = this.#deps;
    const end = () => {
      this.#running.delete(probe);
      acks.forget(seqNo);
      for (const timer of timers) timer[Symbol.dispose]();
    };
    const probe = { [Symbol.dispose]: end };
    const onAck = () => {
      end();
      send(asker, [{ type: "ack", seqNo: request.seqNo, payload: null }]);
    };
    const seqNo = acks.expect({ onAck, onNack: () => {} });
    const leftMs = Math.max(0, this.#options.probeIntervalMs - this.#options.probeTimeoutMs);
    const timers = [clock.timer(leftMs, end)];
    if (request.nack) {
      const nackMs = Math.min(this.#options.probeTimeoutMs, leftMs * nackShare);
      timers.push(clock.timer(nackMs, () => send(asker, [{ type: "nack", seqNo: request.seqNo }])));
    }
    this.#running.add(probe);
    send({ host, port: request.port }, [{ type: "ping", seqNo, node: request.node, source: source() }]);
  }
}
