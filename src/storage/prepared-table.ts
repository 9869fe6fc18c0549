import { type UploadScope, uploadBytes } from "./artifacts.ts";
import type { Artifact, Generation } from "./generation.ts";
import type { GenerationReader } from "./generation-reader.ts";
import { mergeGroup } from "./merge.ts";
import type { ObjectStore } from "./object-store.ts";
import { applyUpdates } from "./ref-stack.ts";
import type { RefTable } from "./ref-table.ts";
import type { RefTables } from "./ref-tables.ts";
import type { PublishRequest } from "./repository-storage.ts";

/** The ref table that a push will need if it is committed alone on a certain base; uploaded while its pack still is. */
export interface PreparedTable {
  readonly baseDigest: string;
  readonly table: RefTable;
  readonly artifact: Artifact;
}

/**
 * Guesses the push's next ref table and uploads it, so that a commit needs no further round trip for it. Undefined where that would not help:
 * the table fits the record, or the push would not be applied as asked. A guess that is not used is garbage like any upload of a lost push.
 */
export async function prepareTable(
  request: PublishRequest,
  scope: UploadScope,
  options: { readonly inlineRefTableBytes: number },
  deps: { readonly store: ObjectStore; readonly reader: GenerationReader; readonly refTables: RefTables },
  signal: AbortSignal,
): Promise<PreparedTable | undefined> {
  const base = newer(deps.reader.known(request.path), request.base);
  if (base.repoId !== scope.repoId || base.state !== "live") return undefined;
  const before = await deps.refTables.of(base, signal);
  const { changes, clean } = mergeGroup(before, base.objectFormat, [{ ...request, disconnected: new Set() }]);
  if (!clean || changes.length === 0) return undefined;
  const table = applyUpdates(before, changes, base.objectFormat);
  const bytes = table.toPackedRefs();
  if (bytes.length <= options.inlineRefTableBytes) return undefined;
  return { baseDigest: base.digest, table, artifact: await uploadBytes(deps.store, scope, "refs", bytes, signal) };
}

function newer(known: Generation | undefined, base: Generation): Generation {
  return known && known.n > base.n ? known : base;
}
