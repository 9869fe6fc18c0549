import { type Figure, printFigures } from "./figures.ts";
import { benchGit } from "./git.ts";
import { benchRing } from "./ring.ts";

// npm run bench [-- NAME...]: every benchmark, or those named, at full size.
const benches: Record<string, () => Promise<Figure[]>> = {
  ring: () => benchRing({ routes: 200_000, rounds: 5 }),
  git: () => benchGit({ commits: 1000, rounds: 15 }),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in benches));
if (unknown.length > 0) {
  process.stderr.write(`no benchmark ${unknown.join(", ")}; there are: ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(benches)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  printFigures(name, await bench(), (line) => process.stdout.write(`${line}\n`));
}
