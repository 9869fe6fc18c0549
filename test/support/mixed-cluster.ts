import { startGoAgent } from "./go-agent.ts";
import { GoPeer } from "./go-peer.ts";
import { type GossipPeer, until } from "./gossip-peer.ts";
import type { JsonAgent } from "./json-agent.ts";
import { OurPeer, type OurPeerOptions } from "./our-peer.ts";

/** What all members of a cluster share on the wire. */
export interface MixedClusterOptions {
  readonly label?: string;
  /** The first encrypts. */
  readonly keys?: readonly Uint8Array[];
  readonly compress?: boolean;
  /** User state of each full exchange. */
  readonly state?: Uint8Array;
  /** Values of the preset that differ, as both kinds name them. Full exchanges are frequent if not said: they repair what gossip misses. */
  readonly tuning?: Readonly<Record<string, number>>;
}

const defaultTuning = { pushPullIntervalMs: 5000 };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Members of both kinds on this machine, each Go member in a process of its own. Disposing it ends all. */
export class MixedCluster implements AsyncDisposable {
  readonly peers: GossipPeer[] = [];
  readonly #options: MixedClusterOptions;
  readonly #agents: JsonAgent[] = [];
  readonly #ours: OurPeer[] = [];

  constructor(options: MixedClusterOptions = {}) {
    this.#options = options;
  }

  /** Starts a Go member; `overrides` beat what the cluster shares. */
  async go(name: string, overrides: Readonly<Record<string, unknown>> = {}): Promise<GoPeer> {
    const { label = "", keys = [], compress = false, state = new Uint8Array(), tuning = defaultTuning } = this.#options;
    const agent = startGoAgent();
    this.#agents.push(agent);
    const shared = { label, keys: keys.map(hex), compress, state: hex(state), overrides: tuning };
    const peer = await GoPeer.start(agent, name, { ...shared, ...overrides });
    this.peers.push(peer);
    return peer;
  }

  /** Starts a member of ours; `overrides` beat what the cluster shares. */
  async ours(name: string, overrides: OurPeerOptions = {}): Promise<OurPeer> {
    const { label = "", keys = [], compress = false, state = new Uint8Array(), tuning = defaultTuning } = this.#options;
    const peer = await OurPeer.start(name, { label, encryptionKeys: keys, compress, state, ...tuning, ...overrides });
    this.#ours.push(peer);
    this.peers.push(peer);
    return peer;
  }

  /** Two Go members g1, g2 and four of ours, o1 to o4. Each joins through one that came before it, of either kind. */
  async form(): Promise<{ g1: GoPeer; g2: GoPeer; o1: OurPeer; o2: OurPeer; o3: OurPeer; o4: OurPeer }> {
    const g1 = await this.go("g1", { meta: "a1" });
    const o1 = await this.ours("o1");
    await o1.join(g1.address);
    const o2 = await this.ours("o2");
    await o2.join(o1.address);
    const g2 = await this.go("g2", { meta: "a2" });
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
}
