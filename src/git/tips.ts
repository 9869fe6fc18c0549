import { Catfile } from "./catfile.ts";
import type { CatfilePool } from "./catfile-pool.ts";
import type { GitObject, ReceivedPack } from "./git.ts";
import type { GitDirectories } from "./git-environment.ts";
import { PackIndex } from "./pack-index.ts";
import type { ProcessGate } from "./process-gate.ts";
import type { RepositoryView } from "./repository-view.ts";

/** What a new value of a ref is. */
export interface Tip {
  readonly type: GitObject["type"];
  /** What an annotated tag leads to in the end. */
  readonly peeledOid: string | undefined;
}

export interface TipsDeps {
  readonly gate: ProcessGate;
  readonly pool: CatfilePool;
}

export interface PushedObjects {
  /** Read together with the repository. */
  readonly directories: GitDirectories;
  readonly pack: ReceivedPack | undefined;
}

/** Looks up the objects that refs shall point at; those that nobody has are not in the answer. Starts a child only for new annotated tags. */
export async function inspectTips(
  view: RepositoryView,
  pushed: PushedObjects,
  oids: ReadonlySet<string>,
  { gate, pool }: TipsDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Tip>> {
  const tips = new Map<string, Tip>();
  const newTags: string[] = [];
  const elsewhere: string[] = [];
  if (pushed.pack) {
    await using index = await PackIndex.open(pushed.pack, view.objectFormat);
    for (const oid of oids) {
      const type = await index.typeOf(oid);
      if (type === "tag") newTags.push(oid);
      else if (type) tips.set(oid, { type, peeledOid: undefined });
      else elsewhere.push(oid);
    }
  } else elsewhere.push(...oids);
  if (elsewhere.length > 0) await pool.with(view, signal, (catfile) => look(catfile, elsewhere, tips, signal));
  if (newTags.length > 0) {
    await using catfile = await Catfile.start(gate, pushed.directories, signal);
    await look(catfile, newTags, tips, signal);
  }
  return tips;
}

async function look(catfile: Catfile, oids: readonly string[], tips: Map<string, Tip>, signal: AbortSignal): Promise<void> {
  for (const oid of oids) {
    const info = await catfile.info(oid, signal);
    if (!info) continue;
    const peeled = info.type === "tag" ? await catfile.info(`${oid}^{}`, signal) : undefined;
    tips.set(oid, { type: info.type, peeledOid: peeled?.oid });
  }
}
