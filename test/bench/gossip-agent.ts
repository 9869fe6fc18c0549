import { startDeadline, systemClock, systemRandom } from "../../src/base/index.ts";
import { bindUdpTcp, createMember, type Member, type MemberEvent, type MemberOptions } from "../../src/gossip/index.ts";
import { type Gauge, type Logger, type Metrics, noMetrics } from "../../src/observability/index.ts";
import { CountingTransport } from "./gossip-counting-transport.ts";

/** One line on stdin. */
export interface AgentRequest {
  readonly id: number;
  readonly op: string;
  readonly name?: string;
  readonly bind?: string;
  readonly port?: number;
  readonly preset?: "lan" | "wan" | "local";
  readonly label?: string;
  /** Hexadecimal, as are `meta` and `payload`. */
  readonly keys?: readonly string[];
  readonly compress?: boolean;
  readonly meta?: string;
  readonly payload?: string;
  readonly overrides?: Partial<MemberOptions>;
  readonly lossOut?: number;
  readonly addrs?: readonly string[];
  readonly timeoutMs?: number;
}

interface Entry {
  readonly member: Member;
  readonly transport: CountingTransport;
  readonly health: () => number;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytesOf = (text: string | undefined) => new Uint8Array(Buffer.from(text ?? "", "hex"));

/** Any number of members in this process, driven by requests; `emit` gets what happens to them. The twin of the Go agent. */
export class GossipAgent implements AsyncDisposable {
  readonly #emit: (event: object) => void;
  readonly #entries = new Map<string, Entry>();

  constructor(emit: (event: object) => void) {
    this.#emit = emit;
  }

  /** The answer to one request. Rejects where it cannot be done. */
  async handle(request: AgentRequest): Promise<unknown> {
    switch (request.op) {
      case "create":
        return this.#create(request);
      case "cpu": {
        const { user, system } = process.cpuUsage();
        return { userMs: user / 1000, systemMs: system / 1000 };
      }
      case "memory":
        return { rssBytes: process.memoryUsage.rss() };
      case "version":
        return { version: process.version };
      case "stall":
        // Nothing of this process runs in the meantime, and it takes no processor from the others.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request.timeoutMs);
        return {};
      default:
        return this.#handleMember(request, this.#entry(request));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ member }) => member.destroy()));
  }

  async #handleMember(request: AgentRequest, entry: Entry): Promise<unknown> {
    const { member, transport } = entry;
    using deadline = startDeadline(systemClock, request.timeoutMs ?? 30_000);
    switch (request.op) {
      case "join":
        return { joined: await member.join((request.addrs ?? []).map(addressOf), deadline.signal) };
      case "leave":
        return member.leave(deadline.signal).then(() => ({}));
      case "shutdown":
        this.#entries.delete(member.name);
        return member.destroy().then(() => ({}));
      case "setMeta":
        member.setMeta(bytesOf(request.meta));
        return {};
      case "members":
        return member.members().map(({ name, host, port, meta, state }) => ({ name, addr: host, port, meta: hex(meta), state }));
      case "broadcast":
        member.broadcast(bytesOf(request.payload));
        return {};
      case "setLoss":
        transport.lossOut = request.lossOut ?? 0;
        return {};
      case "stats":
        return { ...transport.traffic, health: entry.health() };
      default:
        throw new Error(`no operation ${request.op}`);
    }
  }

  #entry({ name, op }: AgentRequest): Entry {
    const entry = this.#entries.get(name ?? "");
    if (!entry) throw new Error(`no member ${name} for ${op}`);
    return entry;
  }

  async #create(request: AgentRequest): Promise<{ port: number }> {
    const { name = "", label = "", preset = "lan", keys = [], compress = true } = request;
    const inner = await bindUdpTcp({ host: request.bind ?? "127.0.0.1", port: request.port ?? 0 }, { clock: systemClock });
    const transport = new CountingTransport({ lossOut: request.lossOut ?? 0 }, { inner, random: systemRandom });
    const { metrics, health } = healthProbe();
    const member = await createMember(
      {
        ...{ name, bindHost: inner.address.host, bindPort: inner.address.port, label, preset, compress, meta: bytesOf(request.meta) },
        encryptionKeys: keys.map(bytesOf),
        ...request.overrides,
      },
      { transport: async () => transport, metrics, logger: this.#logger(name) },
    );
    member.subscribe((event) => this.#tell(name, event));
    this.#entries.set(name, { member, transport, health });
    return { port: member.address.port };
  }

  #tell(node: string, event: MemberEvent): void {
    const atMs = Date.now();
    if (event.type === "message") {
      this.#emit({ event: "message", node, payload: hex(event.payload), atMs });
      return;
    }
    const { type, member, from, reason } = event;
    const facts = { node, member: member.name, meta: hex(member.meta), atMs, from, reason };
    if (type === "conflict") this.#emit({ event: "conflict", ...facts, other: event.other });
    else this.#emit({ event: type === "updated" && reason === "refuted" ? "refuted" : eventNames[type], ...facts });
  }

  #logger(node: string): Logger {
    const line = (level: string) => (message: string, fields?: object) =>
      this.#emit({ event: "log", node, line: `[${level}] ${message} ${JSON.stringify(fields ?? {})}` });
    const logger: Logger = { debug: () => {}, info: () => {}, warn: line("WARN"), error: line("ERR"), child: () => logger };
    return logger;
  }
}

const eventNames = { joined: "join", updated: "update", suspected: "suspect", failed: "leave", left: "leave" } as const;

function addressOf(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) };
}

/** The health score is told to metrics only. */
function healthProbe(): { metrics: Metrics; health: () => number } {
  let collect = (_: Gauge) => {};
  let score = 0;
  const gauge: Gauge = {
    set: (value) => {
      score = value;
    },
    add: () => {},
  };
  return {
    metrics: {
      ...noMetrics,
      gauge: (name, _help, _labels, read) => {
        if (name === "gitaly_cluster_gossip_health_score" && read) collect = read;
        return gauge;
      },
    },
    health: () => {
      collect(gauge);
      return score;
    },
  };
}
