import { CodedError } from "../../base/index.ts";
import type { RepositoryLease } from "../../cache/index.ts";
import type { CheckedPush, CommandResult, PushCommand } from "../../git/index.ts";
import type { PublishResult } from "../../storage/index.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** The lease a push was checked against and the directory its pack is in. */
export interface PushPlace {
  readonly lease: RepositoryLease;
  readonly quarantineDir: string;
}

/** Makes a checked push durable. `onPublished` hears of the generation before the client does. */
export async function publishPush(
  deps: Pick<ServicesDeps, "storage" | "cache" | "git">,
  { lease, quarantineDir }: PushPlace,
  push: CheckedPush,
  signal: AbortSignal,
  onPublished: (result: PublishResult) => void,
): Promise<readonly CommandResult[]> {
  // A client that lost the answer of its push sends it again: that uploads nothing.
  if (push.commands.every((command) => isReached(lease, command))) return push.commands.map(({ ref }) => ({ ref, status: "ok" }));
  let result: PublishResult;
  try {
    result = await deps.storage.publish(
      {
        path: lease.generation.path,
        base: lease.generation,
        updates: push.commands,
        atomic: push.atomic,
        packs: push.pack ? [push.pack] : [],
        disconnected: async (base, updates, disconnectedSignal) => {
          await using other = await deps.cache.acquireGeneration(base, disconnectedSignal);
          return await deps.git.disconnected(other, quarantineDir, updates, disconnectedSignal);
        },
      },
      signal,
    );
  } catch (error) {
    return refusal(push, error);
  }
  onPublished(result);
  return result.results;
}

function isReached(lease: RepositoryLease, { ref, newOid }: PushCommand): boolean {
  const current = lease.refs.get(ref)?.oid;
  return current === undefined ? /^0+$/.test(newOid) : current === newOid;
}

/** Refusals that hold for every ref go into the report, where git shows them; other errors end the call. */
function refusal(push: CheckedPush, error: unknown): readonly CommandResult[] {
  if (CodedError.is(error, "repository_not_found")) {
    return push.commands.map(({ ref }) => ({ ref, status: "rejected", reason: "the repository was removed meanwhile" }));
  }
  if (CodedError.is(error, "store_refuses_writes")) {
    return push.commands.map(({ ref }) => ({ ref, status: "rejected", reason: "the object store does not take writes" }));
  }
  throw error;
}
