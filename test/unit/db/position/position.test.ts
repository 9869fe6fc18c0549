import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import {
  formatLsn,
  formatPosition,
  greater,
  isReached,
  type Position,
  parseLsn,
  parsePosition,
  unknownPosition,
} from "../../../../src/db/position/position.ts";

const at = (lsn: string, timeline = 1, systemId = "7412345678901234567"): Position => ({ systemId, timeline, lsn: parseLsn(lsn) });

describe("log positions are 64-bit numbers (B117)", () => {
  test.each([
    ["F/FFFFFFFF", "10/0"],
    ["9/FFFFFFFF", "A/0"],
    ["9/FFFFFFFF", "A/9"],
    ["0/9", "0/10"],
    ["0/FFFFFFFF", "1/0"],
    ["0/0", "FFFFFFFF/FFFFFFFF"],
    ["FFFFFFFF/FFFFFFFE", "FFFFFFFF/FFFFFFFF"],
  ])("%s comes before %s", (lower, higher) => {
    expect(parseLsn(lower) < parseLsn(higher)).toBe(true);
    expect(isReached(at(lower), at(higher))).toBe(true);
    expect(isReached(at(higher), at(lower))).toBe(false);
    expect(greater(at(higher), at(lower))).toEqual(at(higher));
    expect(greater(at(lower), at(higher))).toEqual(at(higher));
  });

  test.each(["x/y", "", "/", "0", "0/", "/0", "123456789/0", "0/0 ", " 0/0", "0/0/0", "-1/0", "0x1/0", "0/0\n"])(
    "%j is not one",
    (text) => {
      expect(() => parseLsn(text)).toThrow(CodedError);
    },
  );

  test("is written as PostgreSQL writes it, and read again", () => {
    expect(formatLsn(parseLsn("0016/b374d848"))).toBe("16/B374D848");
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (lsn) => {
        expect(parseLsn(formatLsn(lsn))).toBe(lsn);
      }),
    );
  });

  test("a position of its own is reached", () => expect(isReached(at("0/5"), at("0/5"))).toBe(true));
});

describe("positions of different histories", () => {
  test("cannot be compared (B119)", () => {
    expect(isReached(at("0/500", 1), at("0/400", 2))).toBeUndefined();
    expect(isReached(at("0/400", 2), at("0/500", 1))).toBeUndefined();
    expect(isReached(at("0/1", 1, "1"), at("0/2", 1, "2"))).toBeUndefined();
  });

  test("the later timeline is kept, and of different systems the one that is written last", () => {
    expect(greater(at("0/500", 1), at("0/400", 2))).toEqual(at("0/400", 2));
    expect(greater(at("0/400", 2), at("0/500", 1))).toEqual(at("0/400", 2));
    expect(greater(at("0/500", 9, "1"), at("0/400", 1, "2"))).toEqual(at("0/400", 1, "2"));
  });

  test("nothing reaches an unknown one, and it gives way to what is known later", () => {
    expect(isReached(unknownPosition, at("FFFFFFFF/FFFFFFFF"))).toBeUndefined();
    expect(isReached(unknownPosition, unknownPosition)).toBeUndefined();
    expect(greater(unknownPosition, at("0/1"))).toEqual(at("0/1"));
    expect(greater(at("0/1"), unknownPosition)).toEqual(unknownPosition);
  });
});

test("a position's text is read again, and nothing else is", () => {
  for (const position of [at("16/B374D848", 3), unknownPosition]) expect(parsePosition(formatPosition(position))).toEqual(position);
  for (const text of ["", "1:1", "a:1:0/0", "1:1:0/0 ", "1:-1:0/0", "1:1:x/y", `${"1".repeat(21)}:1:0/0`]) {
    expect(parsePosition(text)).toBeUndefined();
  }
});
