import fc from "fast-check";
import { expect, test } from "vitest";
import { type Position, parseLsn } from "../../../../src/db/position/position.ts";
import { PositionTokens } from "../../../../src/db/sticking/position-tokens.ts";
import { TokenStickingStore } from "../../../../src/db/sticking/token-sticking-store.ts";
import { SimClock } from "../../../support/sim-clock.ts";

const secret = "a secret of 16 bytes or more";
const at = (lsn: string, timeline = 1): Position => ({ systemId: "7412345678901234567", timeline, lsn: parseLsn(lsn) });
const tokensOf = (clock: SimClock, options: { secret?: string | readonly string[]; audience?: string } = {}) =>
  new PositionTokens({ secret, ...options }, { clock });

test("a token brings back what was signed, until it is forgotten", async () => {
  const clock = new SimClock();
  const tokens = tokensOf(clock);
  const token = tokens.sign(new Map([["main", tokens.note(at("0/5"))]]));
  expect(tokens.verify(token)).toEqual({
    verdict: "valid",
    positions: new Map([["main", { position: at("0/5"), notedAtMs: clock.now() }]]),
  });
  await clock.advance(29_999);
  expect(tokens.verify(token).verdict).toBe("valid");
  await clock.advance(1);
  expect(tokens.verify(token)).toEqual({ verdict: "stale" });
});

test("what another secret signed is forged, what is for another audience is foreign", () => {
  const clock = new SimClock();
  const note = tokensOf(clock).note(at("0/5"));
  const positions = new Map([["main", note]]);
  expect(tokensOf(clock).verify(tokensOf(clock, { secret: "another secret of 16 bytes" }).sign(positions))).toEqual({ verdict: "forged" });
  expect(tokensOf(clock).verify(tokensOf(clock, { audience: "staging" }).sign(positions))).toEqual({ verdict: "foreign" });
});

test("of several secrets the first signs and all are believed, so that one can be replaced without a lost token", () => {
  const clock = new SimClock();
  const positions = new Map([["main", tokensOf(clock).note(at("0/5"))]]);
  const next = "another secret of 16 bytes";
  const steps = [secret, [secret, next], [next, secret], next].map((given) => tokensOf(clock, { secret: given }));
  const believed = steps.map((signer) => steps.map((reader) => reader.verify(signer.sign(positions)).verdict === "valid"));
  expect(believed).toEqual([
    [true, true, true, false],
    [true, true, true, false],
    [false, true, true, true],
    [false, true, true, true],
  ]);
});

test.each(["", "fifteen bytes..", new Uint8Array(15), [], [secret, "fifteen bytes.."]])("the secret %o is too short", (short) => {
  expect(() => new PositionTokens({ secret: short }, { clock: new SimClock() })).toThrow(/too short/);
});

test("a token with any character changed is not believed, and other texts are none", () => {
  const clock = new SimClock();
  const tokens = tokensOf(clock);
  const token = tokens.sign(new Map([["main", tokens.note(at("0/5"))]]));
  for (let i = 0; i < token.length - 1; i++) {
    const changed = token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1);
    expect(tokens.verify(changed).verdict, changed).not.toBe("valid");
  }
  for (const text of ["", ".", "p1..", "p1.a.b.c", "p2.e30.x", "x".repeat(100_000)]) expect(tokens.verify(text).verdict).not.toBe("valid");
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(tokens.verify(text).verdict).toMatch(/malformed|forged/);
    }),
  );
});

test("a token stays small: the newest 64 positions are kept", async () => {
  const clock = new SimClock();
  const tokens = tokensOf(clock);
  const store = new TokenStickingStore([], { tokens });
  for (let i = 0; i < 100; i++) {
    await store.write([`key/${i}`], at("FFFFFFFF/FFFFFFFF"));
    await clock.advance(1);
  }
  const verdict = tokens.verify(store.token as string);
  expect(verdict).toMatchObject({ verdict: "valid" });
  expect(verdict.verdict === "valid" && [...verdict.positions.keys()]).toEqual(Array.from({ length: 64 }, (_, i) => `key/${99 - i}`));
});

test("of several tokens every position counts, the greater one per key; bad ones count for nothing", async () => {
  const tokens = tokensOf(new SimClock());
  const sign = (key: string, position: Position) => tokens.sign(new Map([[key, tokens.note(position)]]));
  const given = [sign("main", at("0/9")), "nonsense", sign("main", at("0/5")), sign("ci", at("0/1"))];
  const store = new TokenStickingStore(given, { tokens });
  expect(store.verdicts).toEqual(["valid", "malformed", "valid", "valid"]);
  expect(await store.read(["main", "ci", "geo"])).toEqual([at("0/9"), at("0/1"), undefined]);
  expect(new TokenStickingStore([], { tokens }).token).toBeUndefined();
});

test("an older token of the same caller does not shorten what a newer one says", async () => {
  const clock = new SimClock();
  const tokens = tokensOf(clock);
  const older = tokens.sign(new Map([["main", tokens.note(at("0/5"))]]));
  await clock.advance(20_000);
  const newer = tokens.sign(new Map([["main", tokens.note(at("0/9"))]]));
  const stores = [new TokenStickingStore([newer, older], { tokens }), new TokenStickingStore([older, newer], { tokens })];
  await clock.advance(20_000);
  for (const store of stores) expect(await store.read(["main"])).toEqual([at("0/9")]);
});

test("of more than sixteen tokens the rest is counted and not looked at", async () => {
  const tokens = tokensOf(new SimClock());
  const token = tokens.sign(new Map([["main", tokens.note(at("0/5"))]]));
  const given = new Array<string>(100_000).fill(token);
  const looked = new Set<string>();
  const watched = new Proxy(given, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) looked.add(key);
      return Reflect.get(target, key);
    },
  });
  const store = new TokenStickingStore(watched, { tokens });
  expect([store.verdicts.length, store.surplus, looked.size]).toEqual([16, 99_984, 16]);
  expect(await store.read(["main"])).toEqual([at("0/5")]);
  expect(new TokenStickingStore([token], { tokens }).surplus).toBe(0);
});
