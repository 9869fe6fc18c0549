import { expect, test } from "vitest";
import { Consistency } from "../../../src/client/consistency.ts";

test("an answer takes the place of what its call had sent, and an empty one leaves nothing", () => {
  const consistency = new Consistency("a, b");
  expect(consistency.text).toBe("a,b");
  consistency.answered("a,b", "c");
  expect(consistency.text).toBe("c");
  consistency.answered("c", "");
  expect(consistency.text).toBe("");
});

test("calls side by side do not forget each other's writes", () => {
  const consistency = new Consistency("");
  const sent = consistency.text;
  consistency.answered(sent, "write");
  consistency.answered(sent, "");
  consistency.answered(sent, "other");
  consistency.answered(sent, "write");
  expect(consistency.text).toBe("other,write");
});

test("of more than a node reads the newest are kept", () => {
  const consistency = new Consistency("");
  for (let i = 0; i < 20; i++) consistency.answered("", `t${i}`);
  expect(consistency.text.split(",")).toEqual(Array.from({ length: 16 }, (_, i) => `t${i + 4}`));
});
