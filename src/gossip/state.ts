import { bytesToIp, compareAddresses, formatAddress } from "./address.ts";
import { aliveOf, beats, isOldNews, sameClaim, updateReason } from "./claims.ts";
import type { ClaimedNode } from "./cluster-guard.ts";
import type { AliveMessage, DeadMessage, NodeState, PushNodeState, SuspectMessage } from "./codec/message.ts";
import type { FailureReason } from "./member-event.ts";
import type { NodeRecord } from "./node-record.ts";
import { NodeTable } from "./node-table.ts";
import type { Claim, Effect, StateEvent } from "./state-event.ts";
import { suspicionBounds } from "./suspicion.ts";
import { Suspicions } from "./suspicions.ts";
import { checkAccusation, checkIncarnation, checkNode, maxIncarnation, normalVersions } from "./wire-checks.ts";

export interface StateOptions {
  readonly name: string;
  readonly address: Uint8Array;
  readonly port: number;
  readonly meta: Uint8Array;
  readonly suspicionMultiplier: number;
  readonly suspicionMaxMultiplier: number;
  readonly probeIntervalMs: number;
  /** What this member says of its versions. */
  readonly versions: Uint8Array;
  /** False: the node is not taken as a member. */
  readonly acceptNode: (node: ClaimedNode) => boolean;
}

/** Nodes that the view holds; who comes after them is not taken. */
const maxNodes = 16_384;
/** Answers to stale claims about one node, at most one in this time. */
const answerIntervalMs = 500;
const firstIncarnation = 1;

/**
 * The membership rules: an event goes in, the state moves on, effects come out. No clock, randomness or I/O; the time
 * is an argument, and equal inputs give equal outputs.
 */
export class MembershipState {
  readonly #options: StateOptions;
  readonly #nodes: NodeTable;
  readonly #suspicions = new Suspicions();
  readonly #answeredAtMs = new Map<string, number>();
  #own: AliveMessage;
  #leaving = false;
  /** Another node has the name; this one is silent about it. */
  #nameLost = false;
  /** What this node learns now, from the first it meets, is news to no one else. */
  #isNewcomer = false;
  #effects: Effect[] = [];
  #nowMs = 0;

  constructor(options: StateOptions, nowMs: number) {
    this.#options = options;
    this.#nodes = new NodeTable(options.name);
    this.#nowMs = nowMs;
    const { name, address, port, meta, versions } = options;
    this.#own = { type: "alive", node: name, incarnation: firstIncarnation, address, port, meta, versions };
    this.#store(this.#own, "alive");
  }

  /** All nodes sorted by name, this one and the unforgotten dead included. The same array until something changes. */
  get nodes(): readonly NodeRecord[] {
    return this.#nodes.snapshot;
  }

  /** How many nodes are known. */
  get size(): number {
    return this.#nodes.size;
  }

  /** The same nodes in other orders. */
  get table(): Pick<NodeTable, "living" | "failed" | "sample"> {
    return this.#nodes;
  }

  get leaving(): boolean {
    return this.#leaving;
  }

  get nameLost(): boolean {
    return this.#nameLost;
  }

  /** What this node says about itself. */
  get own(): AliveMessage {
    return this.#own;
  }

  node(name: string): NodeRecord | undefined {
    return this.#nodes.get(name);
  }

  /** Applies one event at `nowMs` (monotonic). */
  apply(event: StateEvent, nowMs: number): Effect[] {
    this.#nowMs = nowMs;
    this.#effects = [];
    this.#dispatch(event);
    return this.#effects;
  }

  #dispatch(event: StateEvent) {
    switch (event.type) {
      case "alive":
        return this.#alive(event);
      case "suspect":
        return this.#suspect(event, event.from);
      case "dead":
        return this.#dead(event);
      case "heard":
        return this.#heard(event);
      case "merge":
        return this.#merge(event);
      case "suspicionExpired":
        return this.#suspicionExpired(event.node, event.incarnation);
      case "refused":
        return this.#refused(event.node, event.incarnation);
      case "setMeta":
        return this.#setMeta(event.meta);
      case "succeed":
        return this.#refute(event.incarnation);
      case "leave":
        return this.#leave();
      case "rejoin":
        return this.#rejoin();
      case "reap":
        return this.#reap(event.olderThanMs);
    }
  }

  #merge({ nodes, isSole }: Extract<StateEvent, { type: "merge" }>): void {
    this.#isNewcomer = isSole && this.#nodes.size === 1;
    for (const node of nodes) this.#mergeNode(node);
    this.#isNewcomer = false;
  }

  #mergeNode(node: PushNodeState) {
    const { name, incarnation, state } = node;
    const known = this.#nodes.get(name);
    if (state === "alive" && known && name !== this.#options.name && isOldNews(node, known)) return;
    if (state === "alive") this.#alive({ ...node, type: "alive", node: name });
    else if (state === "left") this.#dead({ type: "dead", incarnation, node: name, from: name });
    else if (state === "dead" && this.#nameLost && name === this.#options.name) {
      this.#dead({ type: "dead", incarnation, node: name, from: this.#options.name });
    } else {
      // A peer's "dead" is hearsay: the node gets the time to refute.
      this.#suspect({ type: "suspect", incarnation, node: name, from: this.#options.name }, this.#options.name);
    }
  }

  /** Who is not taken for a member hears why, also who believes that the name is another's; of who is not known at all more is asked for. */
  #heard({ node, address, port }: Extract<StateEvent, { type: "heard" }>): void {
    const known = this.#nodes.get(node);
    if (!known) return void this.#effects.push({ kind: "unknown", address, port });
    const isFree = known.state === "dead" || known.state === "left";
    const isOfHolder = known.state === "suspect" && compareAddresses(known, { address, port }) === 0;
    if (isFree || isOfHolder) this.#accuse(known, { address, port });
  }

  #alive(received: AliveMessage) {
    const known = this.#nodes.get(received.node);
    // Nearly all claims are old news: these end here, before anything that costs.
    if (known && received.node !== this.#options.name && isOldNews(received, known)) return;
    if (!checkNode(received, this.#options.versions) || (known && !checkIncarnation(received, known))) return this.#drop("invalid");
    const message = { ...received, versions: normalVersions(received.versions, this.#options.versions) };
    if (message.node === this.#options.name) return this.#aliveSelf(message);
    const { node: name, address, port, meta } = message;
    if (!this.#options.acceptNode({ name, host: bytesToIp(address) ?? "", port, meta })) return this.#drop("cluster");
    if (!known) return this.#nodes.size < maxNodes ? this.#adopt(message, undefined) : this.#drop("full");
    const newer = message.incarnation > known.incarnation;
    if (compareAddresses(message, known) === 0) {
      if (newer) this.#adopt(message, known);
      else if (known.state !== "alive") this.#accuse(known, message);
      else if (message.incarnation === known.incarnation && !sameClaim(message, known)) this.#askWhich(message, known);
      return;
    }
    if (known.state === "left" || (known.state !== "alive" && newer)) return this.#adopt(message, known);
    if (known.state !== "alive") return this.#accuse(known, message);
    this.#conflict(message, known);
  }

  /** A node says two things of itself in one incarnation: it lived twice. It hears of both, and refutes the one that is over. */
  #askWhich(message: AliveMessage, known: NodeRecord): void {
    if (!this.#mayAnswer(known.name)) return;
    for (const each of [aliveOf(known), message]) this.#effects.push({ kind: "send", to: known, message: each });
  }

  /** Two addresses claim to be alive under one name: the higher incarnation wins, then the lower address. */
  #conflict(message: AliveMessage, known: NodeRecord): void {
    const wins = beats(message, known);
    if (this.#mayAnswer(known.name)) {
      const [winner, loser] = wins ? [message, aliveOf(known)] : [aliveOf(known), message];
      this.#effects.push({ kind: "send", to: loser, message: winner }, { kind: "send", to: winner, message: loser });
      if (message.incarnation === known.incarnation) this.#conflictEvent(winner, loser, false);
    }
    if (wins) this.#adopt(message, known);
  }

  #conflictEvent(winner: AliveMessage, loser: AliveMessage, lost: boolean): void {
    const other = formatAddress({ host: bytesToIp(loser.address) ?? "", port: loser.port });
    const member = this.#record(winner, "alive");
    this.#effects.push({ kind: "event", event: { type: "conflict", member, from: winner.node, reason: "name", other, lost } });
  }

  #aliveSelf(message: AliveMessage) {
    if (this.#leaving) return;
    const own = this.#own;
    if (compareAddresses(message, own) === 0) {
      if (this.#nameLost || message.incarnation < own.incarnation) return;
      if (message.incarnation === own.incarnation && sameClaim(message, own)) return;
      return this.#refute(message.incarnation);
    }
    const holder = this.#nodes.get(own.node) as NodeRecord;
    if (this.#nameLost) {
      if (beats(message, holder)) this.#store(message, "alive");
    } else if (beats(message, holder)) {
      this.#nameLost = true;
      this.#conflictEvent(message, own, true);
      this.#store(message, "alive");
    } else if (this.#mayAnswer(own.node)) {
      if (message.incarnation === own.incarnation) this.#conflictEvent(own, message, false);
      this.#effects.push({ kind: "send", to: message, message: own });
    }
  }

  #suspect(message: SuspectMessage, from: string) {
    const known = this.#nodes.get(message.node);
    if (!known || message.incarnation < known.incarnation) return;
    if (!checkAccusation(message, known)) return this.#drop("invalid");
    if (message.node === this.#options.name) {
      if (!this.#leaving && !this.#nameLost) this.#refute(message.incarnation);
      return;
    }
    if (this.#suspicions.has(message.node)) return this.#confirm(message, known);
    if (known.state !== "alive") return;
    const bounds = suspicionBounds(this.#nodes.size, this.#options);
    const delayMs = this.#suspicions.start(known.name, bounds, from, this.#nowMs);
    this.#effects.push({ kind: "broadcast", message });
    const record = this.#change(known, { state: "suspect", incarnation: message.incarnation });
    this.#effects.push({ kind: "event", event: { type: "suspected", member: record, from, reason: "unreachable" } });
    this.#arm(record, delayMs);
  }

  #confirm(message: SuspectMessage, known: NodeRecord): void {
    const delayMs = this.#suspicions.confirm(known.name, message.from, this.#nowMs);
    if (delayMs === undefined) return;
    this.#effects.push({ kind: "broadcast", message });
    this.#arm(known, delayMs);
  }

  #arm({ name, incarnation }: NodeRecord, delayMs: number): void {
    this.#effects.push({ kind: "armSuspicion", node: name, incarnation, delayMs });
  }

  #dead(message: DeadMessage, reason?: FailureReason) {
    const known = this.#nodes.get(message.node);
    if (!known || message.incarnation < known.incarnation) return;
    if (!checkAccusation(message, known)) return this.#drop("invalid");
    if (message.node === this.#options.name) {
      if (!this.#leaving) this.#refute(message.incarnation);
      return;
    }
    this.#disarm(known.name);
    if (known.state === "dead" || known.state === "left") return;
    this.#effects.push({ kind: "broadcast", message });
    const { from, incarnation } = message;
    if (from === known.name) {
      const member = this.#change(known, { state: "left", incarnation });
      this.#effects.push({ kind: "event", event: { type: "left", member, from, reason: "leave" } });
    } else {
      const member = this.#change(known, { state: "dead", incarnation });
      const why = reason ?? (from === this.#options.name ? "timeout" : "declared");
      this.#effects.push({ kind: "event", event: { type: "failed", member, from, reason: why } });
    }
  }

  #suspicionExpired(node: string, incarnation: number): void {
    const known = this.#nodes.get(node);
    if (known?.state !== "suspect" || known.incarnation !== incarnation || !this.#suspicions.has(node)) return;
    this.#dead({ type: "dead", node, incarnation, from: this.#options.name });
  }

  #refused(node: string, incarnation: number): void {
    const from = this.#options.name;
    this.#suspect({ type: "suspect", node, incarnation, from }, from);
    this.#dead({ type: "dead", node, incarnation, from }, "refused");
  }

  /** Says something newer about this node than anyone can have heard. */
  #refute(accused: number): void {
    this.#nameLost = false;
    this.#own = { ...this.#own, incarnation: after(Math.max(this.#own.incarnation, accused)) };
    this.#store(this.#own, "alive");
    this.#effects.push({ kind: "broadcast", message: this.#own }, { kind: "refuted" });
  }

  #setMeta(meta: Uint8Array): void {
    this.#own = { ...this.#own, meta, incarnation: after(this.#own.incarnation) };
    if (this.#nameLost || this.#leaving) return;
    const member = this.#store(this.#own, "alive");
    this.#effects.push({ kind: "broadcast", message: this.#own });
    this.#effects.push({ kind: "event", event: { type: "updated", member, from: member.name, reason: "meta" } });
  }

  #leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    if (this.#nameLost) return;
    const { node, incarnation } = this.#own;
    const member = this.#store(this.#own, "left");
    this.#effects.push({ kind: "broadcast", message: { type: "dead", node, incarnation, from: node } });
    this.#effects.push({ kind: "event", event: { type: "left", member, from: node, reason: "leave" } });
  }

  #rejoin(): void {
    if (!this.#leaving) return;
    this.#leaving = false;
    if (this.#nameLost) return;
    this.#own = { ...this.#own, incarnation: after(this.#own.incarnation) };
    const member = this.#store(this.#own, "alive");
    this.#effects.push({ kind: "broadcast", message: this.#own });
    this.#effects.push({ kind: "event", event: { type: "joined", member, from: member.name, reason: "returned" } });
  }

  #reap(olderThanMs: number): void {
    for (const record of this.#nodes.snapshot) {
      const gone = record.state === "dead" || record.state === "left";
      if (!gone || record.name === this.#options.name || this.#nowMs - record.changedAtMs < olderThanMs) continue;
      this.#nodes.delete(record.name);
      this.#answeredAtMs.delete(record.name);
      this.#effects.push({ kind: "forgotten", record });
    }
  }

  #adopt(message: AliveMessage, known: NodeRecord | undefined): void {
    this.#disarm(message.node);
    const member = this.#store(message, "alive");
    if (!this.#isNewcomer) this.#effects.push({ kind: "broadcast", message });
    const from = message.node;
    if (!known || known.state === "dead" || known.state === "left") {
      const reason = known ? "returned" : "new";
      this.#effects.push({ kind: "event", event: { type: "joined", member, from, reason } });
      return;
    }
    const reason = updateReason(message, known);
    if (reason) this.#effects.push({ kind: "event", event: { type: "updated", member, from, reason } });
  }

  /** Tells a node what it is accused of: its claim is older than the accusation, so it cannot have heard of it. */
  #accuse(known: NodeRecord, to: { readonly address: Uint8Array; readonly port: number }): void {
    if (!this.#mayAnswer(known.name)) return;
    const { name, incarnation, state } = known;
    const message: Claim =
      state === "suspect"
        ? { type: "suspect", node: name, incarnation, from: this.#options.name }
        : { type: "dead", node: name, incarnation, from: state === "left" ? name : this.#options.name };
    this.#effects.push({ kind: "send", to, message });
  }

  #mayAnswer(name: string): boolean {
    const before = this.#answeredAtMs.get(name);
    if (before !== undefined && this.#nowMs - before < answerIntervalMs) return false;
    this.#answeredAtMs.set(name, this.#nowMs);
    return true;
  }

  #disarm(name: string): void {
    if (this.#suspicions.end(name)) this.#effects.push({ kind: "disarmSuspicion", node: name });
  }

  #drop(reason: "invalid" | "cluster" | "full"): void {
    this.#effects.push({ kind: "dropped", reason });
  }

  #record(message: AliveMessage, state: NodeState): NodeRecord {
    const { node, incarnation, address, port, meta, versions } = message;
    const host = bytesToIp(address) ?? "";
    return Object.freeze({ name: node, host, port, meta, state, incarnation, address, versions, changedAtMs: this.#nowMs });
  }

  #store(message: AliveMessage, state: NodeState): NodeRecord {
    return this.#put(this.#record(message, state));
  }

  #change(known: NodeRecord, change: { state: NodeState; incarnation: number }): NodeRecord {
    return this.#put(Object.freeze({ ...known, ...change, changedAtMs: this.#nowMs }));
  }

  #put(record: NodeRecord): NodeRecord {
    this.#nodes.put(record);
    return record;
  }
}

/** The wire has no number beyond the last. */
function after(incarnation: number): number {
  return Math.min(maxIncarnation, incarnation + 1);
}
