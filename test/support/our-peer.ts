import { startDeadline, systemClock } from "../../src/base/index.ts";
import { openClusterGuard } from "../../src/gossip/cluster-guard.ts";
import {
  bindUdpTcp,
  createMember,
  formatAddress,
  type GossipAddress,
  type Member,
  type MemberEvent,
  type MemberOptions,
  type PeerView,
} from "../../src/gossip/index.ts";
import { BlockableTransport } from "./blockable-transport.ts";
import { type GossipPeer, PeerLog } from "./gossip-peer.ts";

export interface OurPeerOptions extends Partial<MemberOptions> {
  /** Sent with each full exchange. */
  readonly state?: Uint8Array;
}

/** A member of ours in this process. */
export class OurPeer implements GossipPeer {
  readonly kind = "ours";
  readonly log = new PeerLog();
  readonly events: MemberEvent[] = [];
  readonly member: Member;
  readonly transport: BlockableTransport;

  private constructor(member: Member, transport: BlockableTransport) {
    this.member = member;
    this.transport = transport;
    member.subscribe((event) => this.#record(event));
  }

  static async start(name: string, options: OurPeerOptions = {}): Promise<OurPeer> {
    const { state = new Uint8Array(), ...memberOptions } = options;
    let transport: BlockableTransport | undefined;
    const member = await createMember(
      { name, bindHost: "127.0.0.1", bindPort: 0, ...memberOptions },
      {
        guard: { ...openClusterGuard, userState: () => state },
        transport: async (bind) => {
          transport = new BlockableTransport(await bindUdpTcp(bind, { clock: systemClock }));
          return transport;
        },
      },
    );
    return new OurPeer(member, transport as BlockableTransport);
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

  async send(): Promise<void> {
    throw new Error("not there yet");
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

  async block(addresses: readonly string[]): Promise<void> {
    this.transport.block(addresses);
  }

  /** The view of the member at `address`, as it tells it to this one. */
  async ask(address: string): Promise<PeerView> {
    using deadline = startDeadline(systemClock, 20_000);
    return await this.member.queryMembers(addressOf(address), deadline.signal);
  }

  #record(event: MemberEvent): void {
    this.events.push(event);
    if (event.type === "message") {
      this.log.messages.push(Buffer.from(event.payload).toString("hex"));
      return;
    }
    const { name, meta } = event.member;
    if (event.type === "joined") this.log.add(name, `join ${Buffer.from(meta).toString("hex")}`);
    else if (event.type === "updated") {
      // Like memberlist, which says nothing when a suspicion ends.
      if (event.reason !== "refuted") this.log.add(name, `update ${Buffer.from(meta).toString("hex")}`);
    } else if (event.type === "left" || event.type === "failed") this.log.add(name, "leave");
    else if (event.type === "suspected") this.log.suspicions.push(`${name} by ${event.from}`);
    else this.log.add(name, event.type);
  }
}

function addressOf(text: string): GossipAddress {
  const [host = "", port = ""] = text.split(":");
  return { host, port: Number(port) };
}
