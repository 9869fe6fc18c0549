import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { shuffle } from "../../../src/base/index.ts";
import { Ring, type Site, xxh3 } from "../../../src/ring/index.ts";
import { simRandom } from "../../support/sim-random.ts";

const sites = (weights: number[]): Site[] => weights.map((weight, i) => ({ name: `gitaly-${i + 1}:8075`, weight }));
const keys = (count: number) => Array.from({ length: count }, (_, i) => `default\0group-${i % 97}/repo-${i}.git`);
const owner = (ring: Ring, key: string) => ring.owners(key)[0]?.name;

const goldenFile = new URL("golden/owners.json", import.meta.url);
const goldenCases: { sites: Site[]; replicas: number; seed: bigint }[] = [
  { sites: sites([1, 1, 1]), replicas: 1, seed: 0n },
  { sites: sites([1, 2, 4, 1, 2, 4, 1, 2, 4, 1]), replicas: 3, seed: 0n },
  { sites: sites(Array.from({ length: 100 }, (_, i) => [1, 2, 4][i % 3] as number)), replicas: 2, seed: 0xfedcba9876543210n },
  {
    sites: [
      { name: "\u30ce\u30fc\u30c9", weight: 0.5 },
      { name: "a", weight: 1 },
      { name: "\u{1f600}", weight: 2.5 },
    ],
    replicas: 3,
    seed: 7n,
  },
];

test("owners, costs and fingerprints are what every released version computed (golden file)", () => {
  const actual = goldenCases.map((c) => {
    const ring = new Ring(c.sites, c);
    return {
      seed: String(c.seed),
      replicas: c.replicas,
      sites: c.sites,
      fingerprint: ring.fingerprint,
      owners: Object.fromEntries(keys(500).map((key) => [key, ring.owners(key).map(({ name }) => name)])),
      costs: keys(20).map((key) => ring.explain(key).owners.map(({ cost }) => cost)),
    };
  });
  if (process.env["UPDATE_GOLDEN"]) writeFileSync(goldenFile, `${JSON.stringify(actual, null, 1)}\n`);
  expect(actual).toEqual(JSON.parse(readFileSync(goldenFile, "utf8")));
});

test("the fast path gives the order that the definition gives", () => {
  // The definition in plain arithmetic, with the platform's logarithm: it may differ in the last bits, never in the order of clear scores.
  const unit = (h: bigint) => (Number(h >> 12n) + 0.5) * 2 ** -52;
  const bytes = (a: bigint, b: bigint) => {
    const buffer = Buffer.alloc(16);
    buffer.writeBigUInt64LE(a, 0);
    buffer.writeBigUInt64LE(b, 8);
    return buffer;
  };
  const arbitrarySites = fc.uniqueArray(
    fc.record({ name: fc.string({ minLength: 1 }), weight: fc.double({ min: 1e-3, max: 1e3, noNaN: true }) }),
    { selector: (s) => s.name, maxLength: 40 },
  );
  fc.assert(
    fc.property(
      arbitrarySites,
      fc.string(),
      fc.integer({ min: 1, max: 6 }),
      fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
      (list, key, replicas, seed) => {
        const cost = ({ name, weight }: Site) => -Math.log(unit(xxh3(bytes(xxh3(key, seed), xxh3(name, seed)), seed))) / weight;
        const expected = [...list].sort((a, b) => cost(a) - cost(b)).slice(0, replicas);
        const ring = new Ring(list, { replicas, seed });
        expect(ring.owners(key).map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
        for (const [i, scored] of ring.explain(key).owners.entries()) expect(scored.cost).toBeCloseTo(cost(expected[i] as Site), 9);
      },
    ),
    { numRuns: 300 },
  );
});

// B62
test("equal scores go to the smaller name, whatever the order of insertion", () => {
  const random = simRandom(62);
  const names = ["n3", "n1", "n10", "n2", "\u{1f600}", "\ufb00"];
  const tie = (input: Uint8Array | string) => (names.includes(String(input)) ? 42n : xxh3(input));
  for (let i = 0; i < 100; i++) {
    const ring = new Ring(
      shuffle(
        random,
        names.map((name) => ({ name, weight: 1 })),
      ),
      { replicas: 6 },
      { hash: tie },
    );
    // Byte order of UTF-8, in which U+FB00 comes before U+1F600.
    expect(ring.owners("any").map(({ name }) => name)).toEqual(["n1", "n10", "n2", "n3", "\ufb00", "\u{1f600}"]);
  }
});

test("the order of insertion changes neither owners nor fingerprint", () => {
  const random = simRandom(1);
  const list = sites([1, 2, 4, 1, 2, 4, 3]);
  const reference = new Ring(list, { replicas: 3 });
  for (let i = 0; i < 50; i++) {
    const ring = new Ring(shuffle(random, [...list]), { replicas: 3 });
    expect(ring.fingerprint).toBe(reference.fingerprint);
    for (const key of keys(50)) expect(ring.owners(key)).toEqual(reference.owners(key));
  }
});

// B67
test("a weight of zero, below zero, NaN or infinity is not a site", () => {
  const ring = new Ring([
    { name: "a", weight: 0 },
    { name: "b", weight: 1 },
    { name: "c", weight: Number.NaN },
    { name: "d", weight: -1 },
    { name: "e", weight: Number.POSITIVE_INFINITY },
  ]);
  for (const key of keys(100)) expect(ring.owners(key)).toEqual([{ name: "b", weight: 1 }]);
});

// B67
test("a weight so small that its cost is infinite is still a site: the last one, and among equals the smaller name", () => {
  const tiny = (name: string) => ({ name, weight: Number.MIN_VALUE });
  for (const key of keys(50)) {
    // Leaves its own order in the shared memory.
    new Ring(sites([1, 1, 1]), { replicas: 3 }).owners(key);
    const names = (list: Site[], replicas: number) => new Ring(list, { replicas }).owners(key).map(({ name }) => name);
    expect(names([tiny("c"), tiny("a"), tiny("b")], 2)).toEqual(["a", "b"]);
    expect(names([tiny("a"), { name: "b", weight: 1 }, tiny("c")], 3)).toEqual(["b", "a", "c"]);
    expect(names([{ name: "a", weight: 1e-300 }, { name: "b", weight: 1e300 }, tiny("c")], 3)).toEqual(["b", "a", "c"]);
  }
});

test("k is at least 1 and fits 32 bits; a call's own k that is no number owns nothing", () => {
  for (const replicas of [0, -1, 1.5, Number.NaN, 2 ** 32]) {
    expect(() => new Ring(sites([1]), { replicas })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  }
  const ring = new Ring(sites([1, 1]));
  expect(ring.owners("k", Number.NaN)).toEqual([]);
  expect(ring.owners("k", 2 ** 32)).toHaveLength(2);
});

test("a ring without sites has no owners, and a single site owns everything", () => {
  expect(
    new Ring([
      { name: "a", weight: 0 },
      { name: "b", weight: 0 },
    ]).owners("k"),
  ).toEqual([]);
  for (const key of keys(20)) expect(owner(new Ring(sites([1]), { replicas: 3 }), key)).toBe("gitaly-1:8075");
});

// B70
test("a site named twice counts once, and removing it leaves the others' shares alone", () => {
  const [a, b] = sites([1, 1]) as [Site, Site];
  const twice = new Ring([a, b, a]);
  expect(twice.fingerprint).toBe(new Ring([a, b]).fingerprint);
  expect(twice.sites).toHaveLength(2);
  const afterRemoval = new Ring([a, b, a].filter((site) => site.name !== a.name));
  for (const key of keys(100)) expect(owner(afterRemoval, key)).toBe(b.name);
});

test("one name with two weights is refused", () => {
  expect(
    () =>
      new Ring([
        { name: "a", weight: 1 },
        { name: "a", weight: 2 },
      ]),
  ).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
});

test.each([0, -1, 1.5])("%s replicas are refused", (replicas) => {
  expect(() => new Ring([], { replicas })).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
});

test("a key that no path can be is refused", () => {
  expect(() => new Ring(sites([1, 1])).owners("x".repeat(3000))).toThrowError(expect.objectContaining({ code: "limit_exceeded" }));
});

test("two rings and plain hashing may take turns without disturbing each other", () => {
  const small = new Ring(sites([1, 1]));
  const large = new Ring(sites([1, 2, 4, 1, 2, 4, 1, 2]));
  const before = keys(50).map((key) => [owner(small, key), owner(large, key)]);
  const after = keys(50).map((key) => {
    xxh3(new Uint8Array(100_000));
    return [owner(small, key), owner(large, key)];
  });
  expect(after).toEqual(before);
});

test.each([
  ["equal weights", [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
  ["weights 1:2:4", [1, 2, 4, 1, 2, 4, 1, 2, 4, 1]],
])("shares follow the weights: %s", (_, weights) => {
  const list = sites(weights);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const count = 100_000;
  const ring = new Ring(list);
  const seen = new Map<string, number>();
  for (const key of keys(count)) seen.set(owner(ring, key) as string, (seen.get(owner(ring, key) as string) ?? 0) + 1);
  for (const { name, weight } of list) {
    const share = weight / total;
    const sigma = Math.sqrt(count * share * (1 - share));
    expect(Math.abs((seen.get(name) ?? 0) - count * share) / sigma, name).toBeLessThan(4);
  }
});

test("a join, a leave and a raised weight move keys only to or from the site that changed", () => {
  const list = sites([1, 2, 4, 1, 2, 4, 1, 2, 4, 1]);
  const before = new Ring(list);
  const joined = new Ring([...list, { name: "new:8075", weight: 2 }]);
  const left = new Ring(list.slice(1));
  const raised = new Ring(list.map((site, i) => (i === 3 ? { ...site, weight: 2 } : site)));
  let moved = 0;
  for (const key of keys(10_000)) {
    const old = owner(before, key);
    if (owner(joined, key) !== old) {
      moved++;
      expect(owner(joined, key)).toBe("new:8075");
    }
    if (old !== "gitaly-1:8075") expect(owner(left, key)).toBe(old);
    if (owner(raised, key) !== old) expect(owner(raised, key)).toBe("gitaly-4:8075");
  }
  const ideal = (2 / 24) * 10_000;
  expect(Math.abs(moved - ideal) / Math.sqrt(ideal)).toBeLessThan(4);
});
