import { parseArgs } from "node:util";
import { buildGoAgent, startGoAgent } from "../support/go-agent.ts";
import { benchDb } from "./db.ts";
import { type Figure, printFigures } from "./figures.ts";
import { benchGit } from "./git.ts";
import { benchGossip } from "./gossip.ts";
import { soakGossip } from "./gossip-soak.ts";
import { benchStalls } from "./gossip-stall.ts";
import { benchRing } from "./ring.ts";

// npm run bench [-- NAME...]: every benchmark, or those named, at full size. Only when named: gossip-soak [--minutes 60].
const progress = (line: string) => process.stderr.write(`${line}\n`);
const write = (line: string) => process.stdout.write(`${line}\n`);
const benches: Record<string, () => Promise<Figure[]> | AsyncGenerator<Figure>> = {
  ring: () => benchRing({ routes: 200_000, rounds: 5 }),
  git: () => benchGit({ commits: 1000, rounds: 15 }),
  db: () => benchDb(dbOptions, progress),
  gossip,
};

const dbOptions = {
  rounds: 5,
  pairs: 6,
  sampleMs: 250,
  warmUp: 15_000,
  concurrencies: [1, 8, 32],
  writeShares: [0, 0.1],
  classify: { rounds: 15, texts: 500 },
  failover: { losses: 12, concurrency: 16, ms: 300 },
};
const gossipOptions = {
  sizes: [16, 32, 50],
  warmUpMs: 32_000,
  restMs: 60_000,
  updates: 10,
  leaves: 5,
  pauseMs: 1000,
  crashes: { clusters: 3, rounds: 8 },
  loss: { size: 32, clusters: 2, share: 0.25, restMs: 60_000, rounds: 3 },
};
const stallOptions = {
  warmUpMs: 3000,
  stalls: [
    { stallMs: 400, periodMs: 2000, times: 30 },
    { stallMs: 900, periodMs: 3000, times: 20 },
    { stallMs: 2500, periodMs: 10_000, times: 6 },
    { stallMs: 7000, periodMs: 20_000, times: 3 },
  ],
};

async function* gossip(): AsyncGenerator<Figure> {
  const built = buildGoAgent();
  if ("missing" in built) return progress(`left out: ${built.missing}`);
  const deps = { peer: { name: "memberlist", start: startGoAgent }, progress };
  yield* benchGossip(gossipOptions, deps);
  yield* benchStalls(stallOptions, deps);
}

const { values, positionals: wanted } = parseArgs({ allowPositionals: true, options: { minutes: { type: "string", default: "60" } } });
const unknown = wanted.filter((name) => !(name in benches) && name !== "gossip-soak");
if (unknown.length > 0) {
  process.stderr.write(`no benchmark ${unknown.join(", ")}; there are: ${[...Object.keys(benches), "gossip-soak"].join(", ")}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  await printFigures(name, await bench(), write);
}
if (wanted.includes("gossip-soak")) {
  const samples = Number(values.minutes) * 12;
  if (!(samples >= 2)) throw new Error("--minutes takes a number of minutes");
  if (!(await soakGossip({ nodes: 5, samples, sampleMs: 5000, write }))) process.exitCode = 1;
}
