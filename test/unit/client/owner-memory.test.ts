import { expect, test } from "vitest";
import { parseAddress } from "../../../src/client/address.ts";
import { OwnerMemory } from "../../../src/client/owner-memory.ts";

const [a, b] = [parseAddress("a:1"), parseAddress("b:1")];

test("owners are known until the ring changes, they fail, or others need the room", () => {
  const memory = new OwnerMemory(2);
  memory.remember("x", [a], "ring-1");
  memory.remember("y", [b], "ring-1");
  expect(memory.ownersOf("x")).toEqual([a]);
  memory.remember("z", [a], "ring-1");
  expect(memory.ownersOf("y")).toEqual([]);
  memory.forget("x");
  expect(memory.ownersOf("x")).toEqual([]);
  memory.remember("x", [b], "ring-2");
  expect([memory.ownersOf("z"), memory.ownersOf("x")]).toEqual([[], [b]]);
});
