import { createMember, type GossipAddress, type Member, type MemberEvent, type MemberOptions } from "../../src/gossip/index.ts";
import { type Gauge, noMetrics } from "../../src/observability/index.ts";
import { ScriptedPeer } from "./scripted-peer.ts";
import { SimClock } from "./sim-clock.ts";
import { SimNetwork } from "./sim-network.ts";
import { simRandom } from "./sim-random.ts";

/** One real member, `n1` at 10.0.0.1:7946, and peers that do as they are told, on virtual time. */
export class WireScene implements AsyncDisposable {
  readonly clock: SimClock;
  readonly network: SimNetwork;
  readonly member: Member;
  readonly events: MemberEvent[] = [];
  /** How much the member doubts itself. */
  readonly health: () => number;
  readonly #peers: ScriptedPeer[] = [];

  private constructor(clock: SimClock, network: SimNetwork, member: Member, health: () => number) {
    this.clock = clock;
    this.network = network;
    this.member = member;
    this.health = health;
    member.subscribe((event) => this.events.push(event));
  }

  static async create(options: Partial<MemberOptions> = {}): Promise<WireScene> {
    const clock = new SimClock();
    const network = new SimNetwork(clock, simRandom(1));
    const host = "10.0.0.1";
    const gauges = new Map<string, (gauge: Gauge) => void>();
    const member = await createMember(
      { name: "n1", bindHost: host, bindPort: 7946, compress: false, crashProof: false, ...options },
      {
        clock: network.clockOf(host),
        random: simRandom(2),
        transport: network.factory(host),
        metrics: {
          ...noMetrics,
          gauge: (name, help, labels, collect) => {
            if (collect) gauges.set(name, collect);
            return noMetrics.gauge(name, help, labels);
          },
        },
      },
    );
    const health = () => {
      let value = -1;
      gauges.get("gitaly_cluster_gossip_health_score")?.({
        set: (now) => {
          value = now;
        },
        add: () => {},
      });
      return value;
    };
    return new WireScene(clock, network, member, health);
  }

  get address(): GossipAddress {
    return this.member.address;
  }

  /** A peer `n<host>` at 10.0.0.<host>:7946 that the member does not know yet. */
  async peer(host: number): Promise<ScriptedPeer> {
    const transport = await this.network.factory(`10.0.0.${host}`)({ host: `10.0.0.${host}`, port: 7946 });
    const peer = new ScriptedPeer({ name: `n${host}`, transport, host });
    this.#peers.push(peer);
    return peer;
  }

  /** Peers that the member knows as alive. Those that answer acknowledge pings. */
  async knownPeers(hosts: readonly number[], answering = true): Promise<ScriptedPeer[]> {
    const peers: ScriptedPeer[] = [];
    for (const host of hosts) {
      const peer = await this.peer(host);
      if (answering) peer.answerPings();
      peer.say(this.address, peer.alive());
      peers.push(peer);
    }
    await this.clock.advance(5);
    return peers;
  }

  stateOf(name: string): string | undefined {
    return this.member.members().find((member) => member.name === name)?.state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = Promise.all([this.member.destroy(), ...this.#peers.map(({ transport }) => transport.close())]);
    await this.clock.until(closing);
  }
}
