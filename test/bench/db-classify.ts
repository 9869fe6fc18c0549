import { parseSync } from "libpg-query";
import type { classify } from "../../src/db/index.ts";
import { type Figure, pairwise, timed } from "./figures.ts";

const point = (n: number) => `SELECT id, name, amount FROM items WHERE id = ${n}`;
const join = (n: number) =>
  `SELECT o.id, o.name, count(i.id) AS items, sum(i.amount * p.price) AS total
   FROM owners o JOIN items i ON i.owner_id = o.id LEFT JOIN prices p ON p.item_id = i.id AND p.valid_until > now()
   WHERE o.region = $1 AND i.amount > ${n} GROUP BY o.id, o.name HAVING count(i.id) > 2 ORDER BY total DESC LIMIT 20`;

/** Cached texts are as many as a program has; each is built anew, so that nothing is known of it but what it says. */
const cachedTexts = 500;

/** What it costs to class a text, known and new, beside the least that there is to do. */
export async function benchClassify(options: { rounds: number; texts: number }, classifyText: typeof classify): Promise<Figure[]> {
  let unique = 0;
  const each = async (texts: readonly string[], work: (text: string) => unknown) => {
    const ms = await timed(() => {
      for (const text of texts) work(text);
    });
    return (ms * 1000) / texts.length;
  };
  const fresh = (count: number, text: (n: number) => string) => Array.from({ length: count }, () => flat(text(++unique)));
  const known = (count: number) => Array.from({ length: count }, (_, i) => flat(point(-(i % cachedTexts))));
  const map = new Map(known(cachedTexts).map((text) => [text, { kind: "read" }]));
  const cached = await pairwise(
    options.rounds,
    () => each(known(options.texts * 20), classifyText),
    () => each(known(options.texts * 20), (text) => map.get(text)),
  );
  const figures: Figure[] = [{ name: "class a known text", unit: "us", ...cached, peerName: "Map.get", aim: "<= 0.5 us" }];
  for (const [name, text, aim] of [
    ["a new point select", point, "<= 100 us"],
    ["a new join of three tables", join, "<= 250 us"],
  ] as const) {
    const result = await pairwise(
      options.rounds,
      () => each(fresh(options.texts, text), classifyText),
      () => each(fresh(options.texts, text), parseSync),
    );
    figures.push({ name: `class ${name}`, unit: "us", ...result, peerName: "its parser alone", aim });
  }
  return figures;
}

/** The same text without what the engine knows of the string: its hash, and what it was put together from. */
function flat(text: string): string {
  return Buffer.from(text).toString("latin1");
}
