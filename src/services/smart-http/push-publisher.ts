import type { RepositoryLease } from "../../cache/index.ts";
import type { CheckedPush, CommandResult, PushCommand } from "../../git/index.ts";
import type { PublishResult } from "../../storage/index.ts";
import type { DamageControl } from "../damage-control.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** The lease a push was checked against and the directory its pack is in. */
export interface PushPlace {
  readonly lease: RepositoryLease;
  readonly quarantineDir: string;
}

/** Makes a checked push durable. `onPublished` hears of the generation before the client does. */
export async function publishPush(
  deps: Pick<ServicesDeps, "storage" | "cache" | "git"> & { readonly damage: DamageControl },
  { lease, quarantineDir }: PushPlace,
  push: CheckedPush,
  signal: AbortSignal,
  onPublished: (result: PublishResult) => void,
): Promise<readonly CommandResult[]> {
  // A client that lost the answer of its push sends it again: that uploads nothing.
  if (push.commands.every((command) => isReached(lease, command))) return push.commands.map(({ ref }) => ({ ref, status: "ok" }));
  const result = await deps.storage.publish(
    {
      path: lease.generation.path,
      base: lease.generation,
      updates: push.commands,
      atomic: push.atomic,
      packs: push.pack ? [push.pack] : [],
      disconnected: async (base, updates, disconnectedSignal) => {
        await using other = await deps.cache.acquireGeneration(base, disconnectedSignal);
        const look = () => deps.git.disconnected(other, quarantineDir, updates, disconnectedSignal);
        const refs = await look();
        return refs.length > 0 && (await deps.damage.foundMissing(other, disconnectedSignal)) ? await look() : refs;
      },
    },
    signal,
  );
  onPublished(result);
  return result.results;
}

function isReached(lease: RepositoryLease, { ref, newOid }: PushCommand): boolean {
  const current = lease.refs.get(ref)?.oid;
  return current === undefined ? /^0+$/.test(newOid) : current === newOid;
}
