import { CodedError } from "../../base/index.ts";
import type { RepositoryLease } from "../../cache/index.ts";
import type { Git, UploadPackOptions } from "../../git/index.ts";
import type { DamageControl } from "../damage-control.ts";
import { ReplayableBody } from "./replayable-body.ts";

/** Output held back until there is more of it: git says what is wrong with its files in its first words. */
const heldBackBytes = 512;

/** `git upload-pack`, started a second time where the first fails over damaged cache files before the client heard anything. */
export async function* repairingUploadPack(
  deps: { readonly git: Git; readonly damage: DamageControl },
  lease: RepositoryLease,
  body: AsyncIterable<Uint8Array>,
  options: UploadPackOptions,
): AsyncGenerator<Uint8Array> {
  const replayable = new ReplayableBody(body);
  try {
    for (let attempt = 1; ; attempt++) {
      const heldBack: Uint8Array[] = [];
      let bytes = 0;
      try {
        for await (const chunk of deps.git.uploadPack(lease, replayable.read(), options)) {
          bytes += chunk.length;
          heldBack.push(chunk);
          if (bytes >= heldBackBytes) yield* heldBack.splice(0);
        }
        yield* heldBack;
        return;
      } catch (error) {
        if (attempt > 1 || !(await deps.damage.foundDamage(lease, error, options.signal))) throw error;
        if (bytes >= heldBackBytes || !replayable.replayable) {
          throw new CodedError(
            "node_unavailable",
            "a damaged copy of the repository was thrown away; try again",
            { relativePath: lease.generation.path },
            { cause: error, retryAfterMs: 100 },
          );
        }
      }
    }
  } finally {
    await replayable.close();
  }
}
