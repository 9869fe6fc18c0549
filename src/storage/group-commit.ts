import { type Clock, CodedError, type Random, randomHex, startDeadline } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { uploadBytes } from "./artifacts.ts";
import type { Artifact, Generation } from "./generation.ts";
import { encodeGeneration, type GenerationDraft } from "./generation-codec.ts";
import type { GenerationReader } from "./generation-reader.ts";
import { idByteCount } from "./keys.ts";
import { type MergedGroup, mergeGroup } from "./merge.ts";
import type { ObjectStore } from "./object-store.ts";
import type { PushMember } from "./push-member.ts";
import { applyUpdates } from "./ref-stack.ts";
import type { RefTable } from "./ref-table.ts";
import type { RefTables } from "./ref-tables.ts";
import { fillSlot, type SlotOutcome, type SlotRecord } from "./slot.ts";
import type { StorageMetrics } from "./storage-metrics.ts";
import { successor } from "./successor.ts";

/** Limits of one commit. */
export interface GroupCommitOptions {
  /** Name of this node, kept in the records it writes. */
  readonly writer: string;
  /** Longest time to find out what became of a push, in milliseconds. Default 60,000. */
  readonly commitTimeoutMs: number;
  /** Extra time, after that, to make an unknown outcome definite, in milliseconds. Default 10,000. */
  readonly poisonTimeoutMs: number;
  /** Largest ref table kept inside the record, in bytes. Default 16,384. */
  readonly inlineRefTableBytes: number;
}

export interface GroupCommitDeps {
  readonly store: ObjectStore;
  readonly reader: GenerationReader;
  readonly refTables: RefTables;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: StorageMetrics;
}

interface Plan {
  readonly base: Generation;
  readonly members: readonly PushMember[];
  readonly table: RefTable;
  readonly merged: MergedGroup;
}

/** Brings a fixed group of pushes to one repository into one generation. Gives every member its verdict; never rejects. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #deps: GroupCommitDeps;
  #members: PushMember[];

  constructor(members: readonly PushMember[], options: GroupCommitOptions, deps: GroupCommitDeps) {
    this.#members = [...members];
    this.#options = options;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    using deadline = startDeadline(this.#deps.clock, this.#options.commitTimeoutMs, signal);
    try {
      await this.#loop(deadline.signal, signal);
    } catch (error) {
      // No slot is unresolved here: nothing of these pushes is, or will be, in the store.
      this.#deps.metrics.commits.add(1, { outcome: "failed" });
      for (const member of this.#members) member.fail(error);
    }
  }

  async #loop(signal: AbortSignal, closing: AbortSignal): Promise<void> {
    let base = this.#newestKnown();
    // Whether `base` rests on a request that was sent after these pushes came: no refusal without that.
    let probed = false;
    let losses = 0;
    for (;;) {
      this.#dropHopeless(base);
      if (this.#members.length === 0) return;
      const plan = await this.#plan(base, signal);
      if (plan.members.length === 0) return;
      if (!probed && (!plan.merged.clean || plan.merged.changes.length === 0)) {
        base = await this.#probe(signal);
        probed = true;
        continue;
      }
      // No early verdicts: even a refusal may rest on what another member of the group is about to write.
      if (plan.merged.changes.length === 0) {
        this.#settleMerged(plan, base);
        return;
      }
      const { record, table } = await this.#build(plan, signal);
      const outcome = await this.#fill(base, record, signal, closing);
      if (outcome.outcome === "won") {
        this.#deps.metrics.commits.add(1, { outcome: "won" });
        this.#deps.metrics.groupSize.observe(this.#members.length);
        this.#deps.refTables.put(record.generation, table);
        this.#deps.reader.adopt(record.generation);
        this.#settleMerged(plan, record.generation);
        return;
      }
      if (outcome.outcome === "refused") throw outcome.error;
      if (outcome.outcome === "unresolved") return this.#settleUnknown(base, outcome.error);
      this.#deps.metrics.racesLost.add();
      this.#deps.reader.adopt(outcome.record);
      base = outcome.record;
      probed = false;
      // The record in the slot is the next base; whoever lost twice may be far behind.
      if (++losses > 1) {
        base = await this.#probe(signal);
        probed = true;
      }
    }
  }

  #newestKnown(): Generation {
    const [first] = this.#members as [PushMember, ...PushMember[]];
    let newest = this.#deps.reader.known(first.request.path) ?? first.request.base;
    for (const { request } of this.#members) if (request.base.n > newest.n) newest = request.base;
    return newest;
  }

  async #probe(signal: AbortSignal): Promise<Generation> {
    const [first] = this.#members as [PushMember, ...PushMember[]];
    const { path, base } = first.request;
    const newest = await this.#deps.reader.newest(path, signal);
    if (newest && newest.n >= base.n) return newest;
    throw new CodedError("corrupt", "the store lost generations of a repository", {
      relativePath: path,
      known: base.n,
      found: newest?.n ?? 0,
    });
  }

  #dropHopeless(base: Generation): void {
    this.#members = this.#members.filter((member) => {
      const obstacle = member.obstacle(base);
      if (obstacle) member.fail(obstacle);
      return !obstacle;
    });
  }

  async #plan(base: Generation, signal: AbortSignal): Promise<Plan> {
    const table = await this.#deps.refTables.of(base, signal);
    const looked = await Promise.all(
      this.#members.map(async (member) => {
        try {
          return { member, disconnected: await member.disconnectedOn(base, signal) };
        } catch (error) {
          member.fail(error);
          return undefined;
        }
      }),
    );
    const able = looked.filter((found) => found !== undefined);
    this.#members = able.map(({ member }) => member);
    const merged = mergeGroup(
      table,
      base.objectFormat,
      able.map(({ member: { request }, disconnected }) => ({ updates: request.updates, atomic: request.atomic, disconnected })),
    );
    return { base, members: this.#members, table, merged };
  }

  #settleMerged({ members, merged }: Plan, generation: Generation): void {
    members.forEach((member, i) => void member.settle(generation, (merged.pushes[i] as MergedGroup["pushes"][number]).results));
  }

  #settleUnknown(base: Generation, error: unknown): void {
    this.#deps.metrics.commits.add(1, { outcome: "unknown" });
    this.#deps.logger.warn("the outcome of a push is unknown", { relativePath: base.path, generation: base.n + 1, error });
    for (const member of this.#members) member.settleAll(base, "unknown", "outcome unknown: fetch and compare before pushing again");
  }

  async #build({ base, members, table, merged }: Plan, signal: AbortSignal): Promise<{ record: SlotRecord; table: RefTable }> {
    // A fresh id for each slot: the one before is resolved, so nothing of it can come back under this one.
    const txid = randomHex(this.#deps.random, idByteCount);
    const prepared = members.length === 1 && merged.clean ? members[0]?.prepared : undefined;
    const guessed = prepared?.baseDigest === base.digest ? prepared : undefined;
    const next = guessed?.table ?? applyUpdates(table, merged.changes, base.objectFormat);
    const stored = next.size === 0 ? new Uint8Array() : next.toPackedRefs();
    const inline = stored.length <= this.#options.inlineRefTableBytes;
    const refTables: Artifact[] = [];
    if (guessed) refTables.push(guessed.artifact);
    else if (!inline) {
      const scope = { poolId: base.poolId, repoId: base.repoId, gcEpoch: base.gcEpoch, txid };
      refTables.push(await uploadBytes(this.#deps.store, scope, "refs", stored, signal));
    }
    const packs = members.flatMap((member, i) => (merged.pushes[i]?.changes ? member.packs : []));
    const draft: GenerationDraft = {
      ...successor(base, { txid, writer: this.#options.writer, writtenAtMs: this.#deps.clock.now() }),
      refTables,
      inlineRefTable: inline ? Uint8Array.from(stored) : new Uint8Array(),
      packs: [...base.packs, ...packs],
    };
    return { record: encodeGeneration(draft), table: next };
  }

  /** Fills the slot; when time is up before its owner is known, tries to settle it with a record that changes nothing. */
  async #fill(base: Generation, record: SlotRecord, signal: AbortSignal, closing: AbortSignal): Promise<SlotOutcome> {
    const outcome = await fillSlot(this.#deps, record, signal);
    if (outcome.outcome !== "unresolved") return outcome;
    using grace = startDeadline(this.#deps.clock, this.#options.poisonTimeoutMs, closing);
    const poison = encodeGeneration(
      successor(base, {
        txid: randomHex(this.#deps.random, idByteCount),
        writer: this.#options.writer,
        writtenAtMs: this.#deps.clock.now(),
      }),
    );
    const settled = await fillSlot(this.#deps, poison, grace.signal);
    if (settled.outcome === "won") {
      this.#deps.reader.adopt(poison.generation);
      return { outcome: "refused", error: timeIsUp(base) };
    }
    if (settled.outcome === "lost") {
      if (settled.record.txid === record.generation.txid) return { outcome: "won" };
      this.#deps.reader.adopt(settled.record);
      return { outcome: "refused", error: timeIsUp(base) };
    }
    return outcome;
  }
}

function timeIsUp(base: Generation): CodedError {
  return new CodedError(
    "store_unavailable",
    "the object store did not answer in time; nothing was written",
    { relativePath: base.path },
    { retryAfterMs: 1000 },
  );
}
