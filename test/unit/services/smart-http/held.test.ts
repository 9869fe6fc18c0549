import { expect, test } from "vitest";
import { held } from "../../../../src/services/smart-http/held.ts";
import { collect } from "../../../support/services-fixture.ts";

function setUp() {
  const seen = { released: 0, left: 0 };
  const controller = new AbortController();
  const source = async function* (fail?: Error) {
    try {
      yield 1;
      if (fail) throw fail;
      yield 2;
    } finally {
      seen.left++;
    }
  };
  const hold = (fail?: Error) => held(source(fail), controller.signal, async () => void seen.released++);
  return { seen, controller, hold };
}

test("what is held is let go at the end", async () => {
  const { seen, hold } = setUp();
  expect(await collect(hold())).toEqual([1, 2]);
  expect(seen).toEqual({ released: 1, left: 1 });
});

test("it is let go when the reader leaves early", async () => {
  const { seen, hold } = setUp();
  for await (const item of hold()) {
    expect(item).toBe(1);
    break;
  }
  expect(seen).toEqual({ released: 1, left: 1 });
});

test("it is let go when the source fails", async () => {
  const { seen, hold } = setUp();
  await expect(collect(hold(new Error("broken")))).rejects.toThrow("broken");
  expect(seen).toEqual({ released: 1, left: 1 });
});

test("it is let go when nobody ever reads and the call ends", async () => {
  const { seen, controller, hold } = setUp();
  const items = hold();
  await items.return?.();
  expect(seen.released).toBe(1);
  hold();
  controller.abort(new Error("gone"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.released).toBe(2);
});

test("it is let go when the call ends while the reader does something else, who then hears why", async () => {
  const { seen, controller, hold } = setUp();
  const items = hold();
  await items.next();
  controller.abort(new Error("gone"));
  await expect(items.next()).rejects.toThrow("gone");
  expect(seen).toEqual({ released: 1, left: 1 });
});
