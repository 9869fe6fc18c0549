import { type Clock, CodedError, type Random } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import { type ObjectStore, type ProbedRepositoryStorage, readClusterId, readOrCreateClusterId } from "../storage/index.ts";
import { BackOff } from "./back-off.ts";

interface ProveStoreDeps {
  readonly store: ObjectStore;
  readonly storage: ProbedRepositoryStorage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onWaiting: (reason: string) => void;
  /** Members named the store: this node's own credentials must open it, and waiting does not mend them. */
  readonly told: boolean;
}

/**
 * Tries the store until it answers, and reads the cluster's id there; the first node of a cluster records it.
 * Errors: `failed_precondition` for a store on which nothing may rest or that refuses a joiner's credentials, `store_refuses_writes` for one that must be written to first.
 */
export async function proveStore(deps: ProveStoreDeps, signal: AbortSignal): Promise<string> {
  const backOff = new BackOff({ firstMs: 200, maxMs: 5000 }, deps);
  for (;;) {
    const health = await deps.storage.probe(signal);
    if (health.state === "broken")
      throw new CodedError("failed_precondition", "the object store is not fit to hold repositories", { answer: health.message });
    if (deps.told && health.state !== "proven") await checkCredentials(deps, signal);
    if (health.state !== "unproven") {
      if (health.state === "read_only")
        deps.logger.error("the object store cannot be written to safely; reads only", { answer: health.message });
      const id = await clusterIdOf(deps, health.state === "read_only", signal);
      if (id !== undefined) return id;
    }
    const reason = health.message || "the object store does not answer";
    deps.onWaiting(`the object store: ${reason}`);
    deps.logger.warn("the object store does not answer yet", { reason });
    await backOff.wait(signal);
  }
}

async function clusterIdOf({ store, random }: ProveStoreDeps, readOnly: boolean, signal: AbortSignal): Promise<string | undefined> {
  try {
    if (!readOnly) return await readOrCreateClusterId(store, random, signal);
    const id = await readClusterId(store, signal);
    if (id === undefined) throw new CodedError("store_refuses_writes", "the object store holds no cluster and cannot be written to");
    return id;
  } catch (error) {
    if (CodedError.is(error, "store_unavailable") && !signal.aborted) return undefined;
    throw error;
  }
}

/** The members read the cluster's id in this store, so where this node is refused that, it is this node's credentials. */
async function checkCredentials({ store }: ProveStoreDeps, signal: AbortSignal): Promise<void> {
  try {
    await readClusterId(store, signal);
  } catch (error) {
    if (signal.aborted || !CodedError.is(error)) throw error;
    const { answer, transient } = error.fields;
    // The SDK's name for having found none.
    if (transient !== false && answer !== "CredentialsProviderError") return;
    throw new CodedError(
      "failed_precondition",
      "the cluster's object store refuses this node's credentials; give it its own, or object_storage.url",
      { answer, keys: "object_storage.url" },
      { cause: error },
    );
  }
}
