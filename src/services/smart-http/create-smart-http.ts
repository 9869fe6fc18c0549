import { CodedError, sharedAbortController, startDeadline } from "../../base/index.ts";
import type { RepositoryLease } from "../../cache/index.ts";
import type { ReceivedPack } from "../../git/index.ts";
import type { Generation } from "../../storage/index.ts";
import { catalogEntry } from "../catalog-entry.ts";
import { DamageControl } from "../damage-control.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { BackgroundNotes } from "./background-notes.ts";
import { joined } from "./byte-messages.ts";
import { gitProtocol } from "./git-protocol.ts";
import { held } from "./held.ts";
import { publishPush } from "./push-publisher.ts";
import { repairingUploadPack } from "./repairing-upload-pack.ts";
import type { SmartHttp, SmartHttpRequest } from "./smart-http.ts";

export type SmartHttpDeps = Pick<ServicesDeps, "storage" | "cache" | "git" | "catalog" | "clock" | "logger">;

/** Looking at a pushed generation for the catalog may take this long. */
const recordTimeoutMs = 30_000;

/** Smart HTTP over leases of the cache. A lease is held until the answer is read, left, or its signal aborts. */
export function createSmartHttp(deps: SmartHttpDeps): SmartHttp & AsyncDisposable {
  const damage = new DamageControl(deps);
  const notes = new BackgroundNotes(deps);
  const stop = sharedAbortController();

  const record = async (generation: Generation): Promise<void> => {
    using deadline = startDeadline(deps.clock, recordTimeoutMs, stop.signal);
    await using lease = await deps.cache.acquireGeneration(generation, deadline.signal);
    deps.catalog.record(catalogEntry(generation, lease.refs.size));
  };

  const receivePack = async (request: SmartHttpRequest, body: AsyncIterable<Uint8Array>) => {
    checkWritable(deps);
    const { signal } = request;
    const lease = await deps.cache.acquire(request.path, signal);
    const quarantine = await deps.cache.quarantine().catch(async (error: unknown) => {
      await lease[Symbol.asyncDispose]();
      throw error;
    });
    let adopted: Promise<unknown> = Promise.resolve();
    const onPublished = (generation: Generation, pack: ReceivedPack | undefined) => {
      if (pack) adopted = deps.cache.adopt(generation, [pack]);
      notes.add(
        generation.path,
        adopted.then(() => record(generation)),
      );
    };
    const answer = deps.git.receivePack(lease, body, {
      quarantineDir: quarantine.dir,
      signal,
      repair: (repairSignal) => damage.foundMissing(lease, repairSignal),
      publish: (push, publishSignal) =>
        publishPush({ ...deps, damage }, { lease, quarantineDir: quarantine.dir }, push, publishSignal, ({ generation, results }) => {
          if (results.some(({ status }) => status === "ok")) onPublished(generation, push.pack);
        }),
    });
    return held(reportingDamage(answer, lease, damage, signal), signal, async () => {
      await adopted;
      await quarantine[Symbol.asyncDispose]();
      await lease[Symbol.asyncDispose]();
    });
  };

  return {
    async infoRefs(service, request) {
      if (service === "git-receive-pack") checkWritable(deps);
      const lease = await deps.cache.acquire(request.path, request.signal);
      const chunks = deps.git.advertise(lease, service, gitProtocol(request.gitProtocol));
      return held(joined(chunks), request.signal, () => lease[Symbol.asyncDispose]());
    },
    async uploadPack(request, body) {
      const { signal } = request;
      const lease = await deps.cache.acquire(request.path, signal);
      const options = { gitProtocol: gitProtocol(request.gitProtocol), signal };
      const answer = repairingUploadPack({ git: deps.git, clock: deps.clock, damage }, lease, body, options);
      return held(answer, signal, () => lease[Symbol.asyncDispose]());
    },
    receivePack,
    noted: (path) => notes.ended(path),
    async [Symbol.asyncDispose]() {
      stop.abort(new CodedError("cancelled", "the node stops"));
      await notes[Symbol.asyncDispose]();
    },
  };
}

/** A push that cannot end well is refused before its pack is sent. */
function checkWritable({ storage }: Pick<SmartHttpDeps, "storage">): void {
  const { state, message } = storage.health;
  if (state === "read_only") {
    throw new CodedError("store_refuses_writes", "the object store does not take writes", { storeAnswer: message });
  }
}

async function* reportingDamage(
  answer: AsyncIterable<Uint8Array>,
  lease: RepositoryLease,
  damage: DamageControl,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch (error) {
    await damage.foundDamage(lease, error, signal);
    throw error;
  }
}
