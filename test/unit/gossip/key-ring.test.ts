import { expect, test } from "vitest";
import { createKeyRing } from "../../../src/gossip/key-ring.ts";

const key = (byte: number, sizeBytes = 32) => new Uint8Array(sizeBytes).fill(byte);

test("the first key of a ring sends, and the others follow in their order", () => {
  expect(createKeyRing().list()).toEqual([]);
  expect(createKeyRing([key(1, 16), key(2, 24), key(3)]).list()).toEqual([key(1, 16), key(2, 24), key(3)]);
});

test("a key that is added does not send, and adding one again changes nothing", () => {
  const ring = createKeyRing([key(1)]);
  ring.add(key(2));
  ring.add(key(2));
  ring.add(key(1));
  expect(ring.list()).toEqual([key(1), key(2)]);
});

test("the first key of an empty ring sends", () => {
  const ring = createKeyRing();
  ring.add(key(7));
  expect(ring.list()).toEqual([key(7)]);
});

test("a key in use sends, and the one before it is still accepted", () => {
  const ring = createKeyRing([key(1), key(2), key(3)]);
  ring.use(key(3));
  expect(ring.list()).toEqual([key(3), key(1), key(2)]);
  ring.use(key(3));
  expect(ring.list()).toEqual([key(3), key(1), key(2)]);
});

test("only a key of the ring can be used", () => {
  const ring = createKeyRing([key(1)]);
  expect(() => ring.use(key(2))).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(ring.list()).toEqual([key(1)]);
});

test("the sending key cannot be removed; any other can, and one that is not there is gone already", () => {
  const ring = createKeyRing([key(1), key(2)]);
  expect(() => ring.remove(key(1))).toThrow(expect.objectContaining({ code: "failed_precondition" }));
  ring.remove(key(2));
  ring.remove(key(2));
  expect(ring.list()).toEqual([key(1)]);
});

test("a key of another length than AES has is an error", () => {
  const wrong = expect.objectContaining({ code: "invalid_argument", fields: { sizeBytes: 17 } });
  expect(() => createKeyRing([key(1, 17)])).toThrow(wrong);
  expect(() => createKeyRing().add(key(1, 17))).toThrow(wrong);
});

test("what the caller does to the bytes of a key afterwards does not change the ring", () => {
  const given = key(1);
  const ring = createKeyRing([given]);
  given.fill(9);
  expect(ring.list()).toEqual([key(1)]);
});
