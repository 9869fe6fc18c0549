import { type Clock, CodedError } from "../../base/index.ts";
import type { RepositoryLease } from "../../cache/index.ts";
import type { Git, UploadPackOptions } from "../../git/index.ts";
import type { DamageControl } from "../damage-control.ts";
import { ReplayableBody } from "./replayable-body.ts";

/** Output held back until there is more of it: git says what is wrong with its files in its first words, and soon. */
const heldBackBytes = 512;
const heldBackMs = 1000;

/** `git upload-pack`, started a second time where the first fails over damaged cache files before the client heard anything. */
export async function* repairingUploadPack(
  deps: { readonly git: Git; readonly damage: DamageControl; readonly clock: Clock },
  lease: RepositoryLease,
  body: AsyncIterable<Uint8Array>,
  options: UploadPackOptions,
): AsyncGenerator<Uint8Array> {
  const replayable = new ReplayableBody(body);
  try {
    for (let attempt = 1; ; attempt++) {
      const heldBack: Uint8Array[] = [];
      const startedMs = deps.clock.monotonic();
      let bytes = 0;
      let heard = false;
      let failure: unknown;
      try {
        for await (const chunk of deps.git.uploadPack(lease, replayable.read(), options)) {
          bytes += chunk.length;
          heldBack.push(chunk);
          heard ||= bytes >= heldBackBytes || deps.clock.monotonic() - startedMs >= heldBackMs;
          if (heard) yield* heldBack.splice(0);
        }
      } catch (error) {
        failure = error;
      }
      const suspicion = failure ?? missingTarget(lease, heldBack);
      if (attempt === 1 && suspicion !== undefined && (await deps.damage.foundDamage(lease, suspicion, options.signal))) {
        if (!heard && replayable.replayable) continue;
        throw new CodedError(
          "node_unavailable",
          "a damaged copy of the repository was thrown away; try again",
          { relativePath: lease.generation.path },
          { cause: suspicion, retryAfterMs: 100 },
        );
      }
      if (failure !== undefined) throw failure;
      yield* heldBack;
      return;
    }
  } finally {
    await replayable.close();
  }
}

/** Git answers in good order that it has no such object, although a ref names it: then it cannot read its own files. */
function missingTarget(lease: RepositoryLease, answer: readonly Uint8Array[]): CodedError | undefined {
  const oid = /^[0-9a-f]{4}ERR [^\n]*not our ref ([0-9a-f]{40,64})/.exec(Buffer.concat(answer).toString("latin1"))?.[1];
  if (oid === undefined) return undefined;
  for (const ref of lease.refs.withPrefix("refs/")) {
    if (ref.oid === oid || ref.peeled === oid) return new CodedError("corrupt", "git does not find an object that a ref names", { oid });
  }
  return undefined;
}
