import { type Clock, CodedError, hostPort, type Random } from "../base/index.ts";
import type { Config } from "../config/index.ts";
import { bindUdpTcp, createMember, type Member } from "../gossip/index.ts";
import type { Logger, Metrics } from "../observability/index.ts";
import { toldAddress } from "./ask-peers.ts";
import { listenOnFree, type WantedAddress } from "./free-port.ts";
import { gossipEncryption } from "./gossip-encryption.ts";
import { type MemberViews, type RingSettings, toMemberView } from "./member-view.ts";
import {
  belongsToCluster,
  decodeNodeMeta,
  decodePushPullState,
  encodeNodeMeta,
  encodePushPullState,
  type NodeFacts,
  type NodeState,
} from "./node-meta.ts";

interface MembershipDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly views: MemberViews;
}

export interface MembershipOptions {
  readonly name: string;
  readonly wanted: WantedAddress;
  readonly avoidPorts: ReadonlySet<number>;
  readonly advertiseHost: string | undefined;
  readonly cluster: Config["cluster"];
  readonly ring: RingSettings;
  /** What peers are told, but for the state. */
  readonly facts: Omit<NodeFacts, "state">;
}

/** This node in the gossip cluster: keeps the view that requests read, and tells the others the node's state. */
export class Membership implements AsyncDisposable {
  readonly #member: Member;
  readonly #facts: Omit<NodeFacts, "state">;
  readonly #publish: () => void;

  private constructor(member: Member, facts: Omit<NodeFacts, "state">, publish: () => void) {
    this.#member = member;
    this.#facts = facts;
    this.#publish = publish;
  }

  /** Binds the gossip port and becomes a member that is alone, in state `warming`. */
  static async start(options: MembershipOptions, deps: MembershipDeps): Promise<Membership> {
    const { facts, cluster, ring } = options;
    const { views, ...parts } = deps;
    const guard = {
      userState: () => encodePushPullState(facts.clusterId),
      acceptUserState: (bytes: Uint8Array) => {
        const theirs = decodePushPullState(bytes);
        return theirs === undefined ? !cluster.requireId : theirs === facts.clusterId;
      },
      acceptNode: ({ meta }: { meta: Uint8Array }) =>
        belongsToCluster(meta, facts.clusterId) && !(cluster.requireId && !decodeNodeMeta(meta)),
    };
    const member = await listenOnFree("gossip", options.wanted, options.avoidPorts, (bindHost, bindPort) =>
      createMember(
        {
          name: options.name,
          bindHost,
          bindPort,
          meta: encodeNodeMeta({ ...facts, state: "warming" }),
          preset: cluster.gossipPreset,
          label: cluster.label,
          ...gossipEncryption(cluster),
          ...(options.advertiseHost === undefined ? {} : { advertiseHost: options.advertiseHost }),
          ...(cluster.suspicionMultiplier === undefined ? {} : { suspicionMultiplier: cluster.suspicionMultiplier }),
          ...(cluster.suspicionMaxMultiplier === undefined ? {} : { suspicionMaxMultiplier: cluster.suspicionMaxMultiplier }),
          ...(cluster.probeIntervalMs === undefined ? {} : { probeIntervalMs: cluster.probeIntervalMs }),
          ...(cluster.probeTimeoutMs === undefined ? {} : { probeTimeoutMs: cluster.probeTimeoutMs }),
        },
        { ...parts, transport: (bind) => bindUdpTcp(bind, parts), guard },
      ),
    );
    const publish = () => views.publish(toMemberView(options.name, member.members(), ring));
    member.subscribe((event) => {
      if (event.type !== "message") publish();
    });
    deps.metrics.gauge("gitaly_cluster_members", "Members of the cluster as this node sees them, by status", ["status"], (gauge) => {
      for (const status of ["warming", "ready", "draining", "alive", "suspect", "failed", "left"]) {
        gauge.set(views.current.members.filter((known) => known.status === status).length, { status });
      }
    });
    publish();
    return new Membership(member, facts, publish);
  }

  /** HOST:PORT that peers are told. */
  get address(): string {
    const { host, port } = this.#member.address;
    return hostPort(host, port);
  }

  get port(): number {
    return this.#member.address.port;
  }

  /** Whether no other live member is known. */
  get alone(): boolean {
    return !this.#member.members().some(({ name, state }) => name !== this.#member.name && (state === "alive" || state === "suspect"));
  }

  /** HOST:PORT of the live members, this node included. */
  get liveAddresses(): string[] {
    return [this.address, ...this.livePeers];
  }

  /** HOST:PORT of the other live members. */
  get livePeers(): string[] {
    return this.#member
      .members()
      .filter(({ name, state }) => state === "alive" && name !== this.#member.name)
      .map(({ host, port }) => hostPort(host, port));
  }

  setState(state: NodeState): void {
    this.#member.setMeta(encodeNodeMeta({ ...this.#facts, state }));
    this.#publish();
  }

  /** Exchanges state with members; how many answered. Errors: `failed_precondition` where another live node has this name, `cluster_mismatch`. */
  async join(addresses: readonly string[], signal: AbortSignal): Promise<number> {
    try {
      return await this.#member.join(addresses.map(toldAddress), signal);
    } catch (error) {
      if (CodedError.is(error, "node_unavailable")) return 0;
      throw error;
    }
  }

  /** Tells the others that this node goes. */
  async leave(signal: AbortSignal): Promise<void> {
    await this.#member.leave(signal);
  }

  async destroy(): Promise<void> {
    await this.#member.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#member.close();
  }
}
