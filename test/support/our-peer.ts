import { startDeadline, systemClock } from "../../src/base/index.ts";
import {
  bindUdpTcp,
  createKeyRing,
  createMember,
  formatAddress,
  type GossipAddress,
  type KeyRing,
  type Member,
  type MemberEvent,
  type MemberHooks,
  type MemberOptions,
  type PeerView,
} from "../../src/gossip/index.ts";
import { BlockableTransport } from "./blockable-transport.ts";
import { type GossipPeer, type KeyChange, PeerLog } from "./gossip-peer.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

export interface OurPeerOptions extends Partial<MemberOptions> {
  /** The first encrypts. */
  readonly keys?: readonly Uint8Array[];
  /** Sent with each full exchange. */
  readonly state?: Uint8Array;
  /** Sent with each answer to a probe. */
  readonly ack?: Uint8Array;
}

/** A member of ours in this process. */
export class OurPeer implements GossipPeer, AsyncDisposable {
  readonly kind = "ours";
  readonly log: PeerLog;
  readonly events: MemberEvent[] = [];
  readonly member: Member;
  readonly transport: BlockableTransport;
  readonly #keyRing: KeyRing;

  private constructor(member: Member, transport: BlockableTransport, log: PeerLog, keyRing: KeyRing) {
    this.member = member;
    this.#keyRing = keyRing;
    this.log = log;
    this.transport = transport;
    member.subscribe((event) => this.#record(event));
  }

  static async start(name: string, options: OurPeerOptions = {}): Promise<OurPeer> {
    const { keys, state, ack, ...memberOptions } = options;
    const keyRing = createKeyRing(keys);
    const log = new PeerLog();
    const hooks: MemberHooks = {
      userState: () => state ?? new Uint8Array(),
      mergeUserState: (bytes) => log.states.push(bytes.length),
      onAck: ({ member, payload }) => log.acks.set(member.name, hex(payload)),
      ...(ack ? { ackPayload: () => ack } : {}),
    };
    let transport: BlockableTransport | undefined;
    const member = await createMember(
      { name, bindHost: "127.0.0.1", bindPort: 0, keyRing, ...memberOptions },
      {
        hooks,
        transport: async (bind) => {
          transport = new BlockableTransport(await bindUdpTcp(bind, { clock: systemClock }));
          return transport;
        },
      },
    );
    return new OurPeer(member, transport as BlockableTransport, log, keyRing);
  }

  get name(): string {
    return this.member.name;
  }

  get address(): string {
    return formatAddress(this.member.address);
  }

  async join(address: string): Promise<number> {
    using deadline = startDeadline(systemClock, 20_000);
    return await this.member.join([addressOf(address)], deadline.signal);
  }

  async setMeta(meta: string): Promise<void> {
    this.member.setMeta(Buffer.from(meta, "hex"));
  }

  async broadcast(payload: string): Promise<void> {
    this.member.broadcast(Buffer.from(payload, "hex"));
  }

  async send(address: string, payload: string, reliable: boolean): Promise<void> {
    using deadline = startDeadline(systemClock, 20_000);
    await this.member.send(addressOf(address), Buffer.from(payload, "hex"), { reliable, signal: deadline.signal });
  }

  async changeKeys(change: KeyChange, key: Uint8Array): Promise<void> {
    this.#keyRing[change](key);
  }

  async leave(): Promise<void> {
    using deadline = startDeadline(systemClock, 20_000);
    await this.member.leave(deadline.signal);
  }

  async crash(): Promise<void> {
    await this.member.destroy();
  }

  async live(): Promise<string[]> {
    return this.member
      .members()
      .filter(({ state }) => state === "alive" || state === "suspect")
      .map(({ name }) => name)
      .sort();
  }

  async lose(share: number): Promise<void> {
    this.transport.lossShare = share;
  }

  async block(addresses: readonly string[]): Promise<void> {
    this.transport.block(addresses);
  }

  /** The view of the member at `address`, as it tells it to this one. */
  async ask(address: string): Promise<PeerView> {
    using deadline = startDeadline(systemClock, 20_000);
    return await this.member.queryMembers(addressOf(address), deadline.signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.crash();
  }

  #record(event: MemberEvent): void {
    this.events.push(event);
    if (event.type === "message") {
      this.log.messages.push(hex(event.payload));
      return;
    }
    const { name, meta } = event.member;
    if (event.type === "joined") this.log.add(name, `join ${hex(meta)}`);
    else if (event.type === "updated") {
      // Like memberlist, which says nothing when a suspicion ends.
      if (event.reason !== "refuted") this.log.add(name, `update ${hex(meta)}`);
    } else if (event.type === "left" || event.type === "failed") this.log.add(name, "leave");
    else if (event.type === "suspected") this.log.suspicions.push(`${name} by ${event.from}`);
    else this.log.add(name, event.type);
  }
}

function addressOf(text: string): GossipAddress {
  const [host = "", port = ""] = text.split(":");
  return { host, port: Number(port) };
}
