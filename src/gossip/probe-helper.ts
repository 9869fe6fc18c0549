import { type Clock, sharedAbortController } from "../base/index.ts";
import type { Acks } from "./acks.ts";
import { bytesToIp, compareAddresses, type GossipAddress } from "./address.ts";
import type { IndirectPingMessage, PacketMessage, Source } from "./codec/message.ts";
import type { NodeRecord } from "./node-record.ts";
import type { StreamAnswer } from "./push-pull.ts";

export interface ProbeHelperOptions {
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
}

export interface ProbeHelperDeps {
  readonly clock: Clock;
  readonly acks: Acks;
  readonly node: (name: string) => NodeRecord | undefined;
  readonly source: () => Source;
  readonly send: (to: GossipAddress, messages: readonly PacketMessage[]) => void;
  /** Pings the node over a stream until the signal aborts. Never rejects. */
  readonly streamPing: (node: NodeRecord, signal: AbortSignal) => Promise<StreamAnswer>;
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
    const leftMs = Math.max(0, this.#options.probeIntervalMs - this.#options.probeTimeoutMs);
    const stop = sharedAbortController();
    const answer = (message: PacketMessage) => send(asker, [message]);
    const nackMs = Math.min(this.#options.probeTimeoutMs, leftMs * nackShare);
    const timers = [
      clock.timer(leftMs, () => end()),
      ...(request.nack ? [clock.timer(nackMs, () => answer({ type: "nack", seqNo: request.seqNo }))] : []),
    ];
    const end = () => {
      this.#running.delete(probe);
      acks.forget(seqNo);
      stop.abort();
      for (const timer of timers) timer[Symbol.dispose]();
    };
    const probe = { [Symbol.dispose]: end };
    const onAck = () => {
      end();
      answer({ type: "ack", seqNo: request.seqNo, payload: null });
    };
    const seqNo = acks.expect({ onAck, onNack: () => {} });
    this.#running.add(probe);
    send({ host, port: request.port }, [{ type: "ping", seqNo, node: request.node, source: source() }]);
    const member = request.stream ? this.#member(request) : undefined;
    if (!member) return;
    void this.#deps.streamPing(member, stop.signal).then((streamAnswer) => {
      if (streamAnswer === "silent" || !this.#running.has(probe)) return;
      if (streamAnswer === "answered") return onAck();
      end();
      answer({ type: "nack", seqNo: request.seqNo, refused: true });
    });
  }

  /** Streams are only opened to members, never to wherever a stranger says. */
  #member({ node, target, port }: IndirectPingMessage): NodeRecord | undefined {
    const known = this.#deps.node(node);
    return known && compareAddresses(known, { address: target, port }) === 0 ? known : undefined;
  }
}
