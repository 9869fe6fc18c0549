import { startGoAgent } from "./go-agent.ts";
import { GoPeer } from "./go-peer.ts";
import { type GossipPeer, until } from "./gossip-peer.ts";
import type { JsonAgent } from "./json-agent.ts";
import { OurPeer, type OurPeerOptions } from "./our-peer.ts";

/** What one member has otherwise than the rest. */
interface MemberDifference {
  readonly protocolVersion?: number;
  readonly verifyIncoming?: boolean;
  readonly verifyOutgoing?: boolean;
}

/** What all members of a cluster share on the wire. */
export interface MixedClusterOptions {
  readonly label?: string;
  /** The first encrypts. */
  readonly keys?: readonly Uint8Array[];
  readonly compress?: boolean;
  /** User state of each full exchange. */
  readonly state?: Uint8Array;
  /** What goes with each answer to a probe. */
  readonly ack?: Uint8Array;
  /** Values of the preset that differ, as both kinds name them; `rejoinIntervalMs` is only for ours, `deadNodeReclaimMs` for Go's. */
  readonly tuning?: Readonly<Record<string, number>>;
  /** Each member has an address of its own and all have one port number, as protocol version 1 needs it. */
  readonly onePort?: boolean;
  /** By member. */
  readonly differences?: Readonly<Record<string, MemberDifference>>;
}

/** The six members of a cluster that {@link MixedCluster.form} makes. */
export interface SixPeers {
  readonly g1: GoPeer;
  readonly g2: GoPeer;
  readonly o1: OurPeer;
  readonly o2: OurPeer;
  readonly o3: OurPeer;
  readonly o4: OurPeer;
}

/** Full exchanges are frequent: they repair what gossip misses. */
const defaultTuning: Readonly<Record<string, number>> = { pushPullIntervalMs: 5000 };
const empty = new Uint8Array();
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Members of both kinds on this machine, each Go member in a process of its own. Disposing it ends all. */
export class MixedCluster implements AsyncDisposable {
  readonly peers: GossipPeer[] = [];
  readonly #options: MixedClusterOptions;
  readonly #agents: JsonAgent[] = [];
  readonly #ours: OurPeer[] = [];
  #port = 0;
  #hosts = 0;

  constructor(options: MixedClusterOptions = {}) {
    this.#options = options;
  }

  /** Starts a Go member; `settings` beat what the cluster shares. */
  async go(name: string, settings: Readonly<Record<string, unknown>> = {}): Promise<GoPeer> {
    const { label = "", keys = [], compress = false, state = empty, ack = empty, tuning = defaultTuning, differences = {} } = this.#options;
    const { rejoinIntervalMs: _, ...known } = tuning;
    // Its overrides are numbers.
    const different = Object.entries(differences[name] ?? {}).map(([key, value]) => [key, Number(value)]);
    const overrides = { ...known, ...Object.fromEntries(different) };
    const { host: bind, port } = this.#place();
    const agent = startGoAgent();
    this.#agents.push(agent);
    const shared = { label, keys: keys.map(hex), compress, state: hex(state), ack: hex(ack), overrides, bind, port };
    return this.#add(await GoPeer.start(agent, name, { ...shared, ...settings }));
  }

  /** Starts a member of ours; `settings` beat what the cluster shares. */
  async ours(name: string, settings: OurPeerOptions = {}): Promise<OurPeer> {
    const { label = "", keys = [], compress = false, state = empty, ack = empty, tuning = defaultTuning, differences = {} } = this.#options;
    const { host: bindHost, port: bindPort } = this.#place();
    const shared = { label, keys, compress, state, ack, ...tuning, bindHost, bindPort, ...differences[name] };
    const peer = await OurPeer.start(name, { ...shared, ...settings });
    this.#ours.push(peer);
    return this.#add(peer);
  }

  /** Two Go members g1, g2 and four of ours, o1 to o4. Each joins through one that came before it, of either kind. */
  async form(): Promise<SixPeers> {
    const g1 = await this.go("g1");
    const o1 = await this.ours("o1");
    await o1.join(g1.address);
    const o2 = await this.ours("o2");
    await o2.join(o1.address);
    const g2 = await this.go("g2");
    await g2.join(o2.address);
    const o3 = await this.ours("o3");
    await o3.join(g2.address);
    const o4 = await this.ours("o4");
    await o4.join(o3.address);
    await this.agree(["g1", "g2", "o1", "o2", "o3", "o4"], 15_000);
    return { g1, g2, o1, o2, o3, o4 };
  }

  /** Waits until each of `peers` holds exactly these to be there. */
  async agree(names: readonly string[], withinMs: number, peers: readonly GossipPeer[] = this.peers): Promise<void> {
    const wanted = names.join();
    const views = async () => Promise.all(peers.map(async (peer) => `${peer.name}: ${(await peer.live()).join()}`));
    await until(
      async () => (await views()).every((view) => view.endsWith(`: ${wanted}`)),
      withinMs,
      async () => ({ wanted, views: await views() }),
    );
  }

  /** Forgets a member that has ended, so that {@link agree} does not ask it. */
  ended(peer: GossipPeer): void {
    this.peers.splice(this.peers.indexOf(peer), 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#agents.map((agent) => agent.kill()), ...this.#ours.map(({ member }) => member.destroy())]);
  }

  #place(): { host: string; port: number } {
    return this.#options.onePort ? { host: `127.0.1.${++this.#hosts}`, port: this.#port } : { host: "127.0.0.1", port: 0 };
  }

  #add<T extends GossipPeer>(peer: T): T {
    if (this.#options.onePort) this.#port = Number(peer.address.split(":")[1]);
    this.peers.push(peer);
    return peer;
  }
}
