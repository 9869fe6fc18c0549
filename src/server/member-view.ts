import { compareUtf8, hostPort } from "../base/index.ts";
import { Ring } from "../ring/index.ts";
import type { MemberInfo, MemberStatus, MemberView } from "../routing/index.ts";
import { decodeNodeMeta } from "./node-meta.ts";

/** A member as gossip knows it. */
export interface GossipRecord {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly meta: Uint8Array;
  readonly state: "alive" | "suspect" | "dead" | "left";
}

export interface RingSettings {
  readonly replicas: number;
  readonly hashSeed: bigint;
}

/** What a first node uses unless told. */
export const defaultRing: RingSettings = { replicas: 1, hashSeed: 0n };

const statusOf = { suspect: "suspect", dead: "failed", left: "left" } as const;

/** The picture that requests read, made from what gossip knows. Only nodes that are ready own repositories, suspects among them included. */
export function toMemberView(self: string, records: readonly GossipRecord[], settings: RingSettings): MemberView {
  const sites: { name: string; weight: number }[] = [];
  const members = records.map((record): MemberInfo => {
    const node = decodeNodeMeta(record.meta);
    const alive = record.state === "alive" || record.state === "suspect";
    if (node?.state === "ready" && alive) sites.push({ name: record.name, weight: node.weight });
    const status: MemberStatus = record.state === "alive" ? (node?.state ?? "alive") : statusOf[record.state];
    return {
      name: record.name,
      status,
      grpcAddress: node?.grpcAddress ?? "",
      grpcTls: node?.grpcTls ?? false,
      httpUrl: node?.httpUrl ?? "",
      gossipAddress: hostPort(record.host, record.port),
      weight: node?.weight ?? 0,
      zone: node?.zone ?? "",
      version: node?.version ?? "",
    };
  });
  members.sort((a, b) => compareUtf8(a.name, b.name));
  return Object.freeze({
    self,
    members: Object.freeze(members),
    ring: new Ring(sites, { replicas: settings.replicas, seed: settings.hashSeed }),
  });
}

/** Holds the newest view. The membership loop is its one writer; requests read `current`. */
export class MemberViews {
  #current: MemberView;
  readonly #listeners = new Set<() => void>();

  constructor(self: string, settings: RingSettings = defaultRing) {
    this.#current = toMemberView(self, [], settings);
  }

  get current(): MemberView {
    return this.#current;
  }

  publish(view: MemberView): void {
    this.#current = view;
    for (const listener of [...this.#listeners]) listener();
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
