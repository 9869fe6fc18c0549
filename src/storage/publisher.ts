import { abortable, CodedError, linkSignals, randomHex, sharedAbortController } from "../base/index.ts";
import { uploadPack } from "./artifacts.ts";
import type { Pack } from "./generation.ts";
import { GroupCommit, type GroupCommitDeps, type GroupCommitOptions } from "./group-commit.ts";
import { idByteCount } from "./keys.ts";
import { type PreparedTable, prepareTable } from "./prepared-table.ts";
import { PushMember } from "./push-member.ts";
import type { PublishRequest, PublishResult } from "./repository-storage.ts";
import { together } from "./together.ts";

export interface PublisherOptions extends GroupCommitOptions {
  /** Most pushes in one generation. Default 64. */
  readonly maxGroupSize: number;
  /** Most pushes to one repository that wait on this node. Default 1,000. */
  readonly maxQueuedPushes: number;
  /** Most ref updates in one push. Default 100,000. */
  readonly maxUpdates: number;
}

interface Queue {
  readonly waiting: PushMember[];
  readonly drained: Promise<void>;
}

/** Commits pushes: uploads at once, then one queue per repository whose waiting pushes go into one generation together. */
export class Publisher implements AsyncDisposable {
  readonly #options: PublisherOptions;
  readonly #deps: GroupCommitDeps;
  readonly #queues = new Map<string, Queue>();
  readonly #closing = sharedAbortController();

  constructor(options: PublisherOptions, deps: GroupCommitDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  async publish(request: PublishRequest, signal: AbortSignal): Promise<PublishResult> {
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    if (request.updates.length === 0) return { generation: request.base, results: [] };
    if (request.updates.length > this.#options.maxUpdates) {
      throw new CodedError("limit_exceeded", "the push changes too many refs", {
        updates: request.updates.length,
        limit: this.#options.maxUpdates,
      });
    }
    using linked = linkSignals(signal, this.#closing.signal);
    const { packs, prepared } = await this.#upload(request, linked.signal);
    const member = new PushMember(request, packs, prepared, linked.signal);
    const queue = this.#enqueue(request.path, member);
    try {
      return await abortable(member.verdict, linked.signal);
    } catch (error) {
      if (!linked.signal.aborted) throw error;
      const at = queue.waiting.indexOf(member);
      if (at !== -1) {
        // Its group was not formed yet, so nothing of it was or will be sent.
        queue.waiting.splice(at, 1);
        throw error;
      }
      member.settleAll(request.base, "unknown", "outcome unknown: the push was given up while it was being written");
      return await member.verdict;
    }
  }

  /** Gives up what waits, and waits until nothing runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new CodedError("node_unavailable", "the node is shutting down"));
    await Promise.all([...this.#queues.values()].map(({ drained }) => drained));
  }

  async #upload(request: PublishRequest, signal: AbortSignal): Promise<{ packs: Pack[]; prepared: PreparedTable | undefined }> {
    const { store, random } = this.#deps;
    const { path, base } = request;
    const scope = { poolId: base.poolId, repoId: base.repoId, gcEpoch: base.gcEpoch, txid: randomHex(random, idByteCount) };
    // Behind other pushes a guess at the refs would be wrong; without a pack it would save no time.
    const guess = request.packs.length > 0 && !this.#queues.has(path);
    const preparing = async (limited: AbortSignal) =>
      guess ? await prepareTable(request, scope, this.#options, this.#deps, limited).catch(() => undefined) : undefined;
    const [prepared, ...packs] = (await together<PreparedTable | Pack | undefined>(
      [preparing, ...request.packs.map((pack) => (limited: AbortSignal) => uploadPack(store, scope, pack, limited))],
      signal,
    )) as [PreparedTable | undefined, ...Pack[]];
    return { packs, prepared };
  }

  #enqueue(path: string, member: PushMember): Queue {
    const running = this.#queues.get(path);
    if (running) {
      if (running.waiting.length >= this.#options.maxQueuedPushes) {
        throw new CodedError("limit_exceeded", "too many pushes to this repository wait", { relativePath: path }, { retryAfterMs: 1000 });
      }
      running.waiting.push(member);
      return running;
    }
    const waiting = [member];
    const queue: Queue = { waiting, drained: this.#drain(path, waiting) };
    this.#queues.set(path, queue);
    return queue;
  }

  async #drain(path: string, waiting: PushMember[]): Promise<void> {
    // The queue is registered before it is worked on.
    await Promise.resolve();
    try {
      while (waiting.length > 0) {
        const group = waiting.splice(0, this.#options.maxGroupSize);
        await new GroupCommit(group, this.#options, this.#deps).run(this.#closing.signal);
      }
    } finally {
      this.#queues.delete(path);
    }
  }
}
