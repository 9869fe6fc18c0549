import { parseArgs } from "node:util";
import { systemClock } from "../../src/base/index.ts";
import { Fuzzer } from "../support/fuzzer.ts";
import { HangWatch } from "../support/hang-watch.ts";
import { keepInput, readCorpus } from "./gossip-corpus.ts";
import { gossipTargets } from "./gossip-targets.ts";

const { values } = parseArgs({
  options: {
    decoder: { type: "string" },
    inputs: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    save: { type: "boolean", default: false },
    replay: { type: "string" },
  },
});
const chosen = gossipTargets.filter(({ name }) => values.decoder === undefined || values.decoder === name);
if (chosen.length === 0) throw new Error(`no decoder of this name; there are ${gossipTargets.map(({ name }) => name).join(", ")}`);
const seed = Number(values.seed);
const perTarget = Math.ceil(Number(values.inputs) / chosen.length);

for (const target of chosen) {
  if (values.replay !== undefined) {
    console.log(target.name, target.run(Buffer.from(values.replay, "hex")));
    continue;
  }
  await using watch = new HangWatch(`${target.name}, seed ${seed}`);
  const fuzzer = new Fuzzer({ seed, corpus: readCorpus(target.name) }, target);
  const startedMs = systemClock.monotonic();
  while (fuzzer.count < perTarget) {
    const bytes = fuzzer.next();
    watch.begin(bytes);
    try {
      fuzzer.run(bytes);
    } catch (error) {
      if (values.save) keepInput(target.name, bytes);
      throw error;
    }
  }
  const perSecond = Math.round((1000 * fuzzer.count) / (systemClock.monotonic() - startedMs));
  if (values.save) for (const bytes of worthKeeping(fuzzer.found)) keepInput(target.name, bytes);
  console.log(`${target.name}: ${fuzzer.count} inputs, ${perSecond} per second, ${fuzzer.kinds} kinds, ${fuzzer.found.size} of them new`);
}

/** A small part of what was found in which every word of every outcome still occurs. */
function worthKeeping(found: ReadonlyMap<string, Uint8Array>): Uint8Array[] {
  const seen = new Set<string>();
  const wordsOf = (kind: string) => kind.split(/[\s,+]+/);
  const byWealth = [...found].sort(([a], [b]) => wordsOf(b).length - wordsOf(a).length || (a < b ? -1 : 1));
  return byWealth.flatMap(([kind, bytes]) => {
    const fresh = wordsOf(kind).filter((word) => !seen.has(word));
    for (const word of fresh) seen.add(word);
    return fresh.length > 0 ? [bytes] : [];
  });
}
