import type { GossipPeer, KeyChange } from "./gossip-peer.ts";
import { PeerLog } from "./gossip-peer.ts";
import type { AgentEvent, JsonAgent } from "./json-agent.ts";

/** A member written in Go, alone in its process. */
export class GoPeer implements GossipPeer {
  readonly kind = "go";
  readonly name: string;
  readonly address: string;
  readonly log: PeerLog;
  readonly #agent: JsonAgent;

  private constructor(agent: JsonAgent, name: string, address: string, log: PeerLog) {
    this.#agent = agent;
    this.name = name;
    this.address = address;
    this.log = log;
  }

  /** Starts a member; `options` are those of the agent's "create". */
  static async start(agent: JsonAgent, name: string, options: Readonly<Record<string, unknown>> = {}): Promise<GoPeer> {
    const log = new PeerLog();
    agent.subscribe((event) => {
      if (event.node === name) record(log, event);
    });
    const { port } = await agent.request<{ port: number }>("create", { name, port: 0, ...options });
    return new GoPeer(agent, name, `${options["bind"] ?? "127.0.0.1"}:${port}`, log);
  }

  async request<T>(op: string, fields: Readonly<Record<string, unknown>> = {}): Promise<T> {
    return await this.#agent.request<T>(op, { name: this.name, ...fields });
  }

  async join(address: string): Promise<number> {
    return (await this.request<{ joined: number }>("join", { addrs: [address] })).joined;
  }

  async setMeta(meta: string): Promise<void> {
    await this.request("setMeta", { meta });
  }

  async broadcast(payload: string): Promise<void> {
    await this.request("broadcast", { payload });
  }

  async send(addr: string, payload: string, reliable: boolean): Promise<void> {
    await this.request("sendTo", { addr, payload, reliable });
  }

  async changeKeys(change: KeyChange, key: Uint8Array): Promise<void> {
    await this.request(`${change}Key`, { key: Buffer.from(key).toString("hex") });
  }

  async leave(): Promise<void> {
    await this.request("leave", { timeoutMs: 10_000 });
  }

  async crash(): Promise<void> {
    await this.#agent.kill();
  }

  async live(): Promise<string[]> {
    return (await this.request<{ name: string }[]>("members")).map(({ name }) => name).sort();
  }

  async lose(lossOut: number): Promise<void> {
    await this.request("setLoss", { lossOut });
  }

  async block(addrs: readonly string[]): Promise<void> {
    await this.request("setBlocked", { addrs });
  }
}

function record(log: PeerLog, event: AgentEvent): void {
  const { member = "", line = "", meta = "" } = event;
  if (event.event === "state") log.states.push(event.bytes ?? 0);
  else if (event.event === "ping") log.acks.set(member, event.payload ?? "");
  else if (event.event === "message") log.messages.push(event.payload ?? "");
  else if (event.event === "join" || event.event === "update") log.add(member, `${event.event} ${meta}`);
  else if (event.event === "leave" || event.event === "conflict") log.add(member, event.event);
  else if (event.event === "log") {
    if (/suspect|refut/i.test(line)) log.suspicions.push(line);
    else log.complaints.push(line);
  }
}
