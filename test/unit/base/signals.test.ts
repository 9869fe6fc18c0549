import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { abortable, forgetAbort, onAbort, sharedAbortController } from "../../../src/base/index.ts";

describe.each([
  ["any", () => new AbortController()],
  ["a shared", sharedAbortController],
])("%s signal", (_, make) => {
  test("calls once what waits for its abort, but not what was taken back", () => {
    const controller = make();
    const called: string[] = [];
    const kept = () => called.push("kept");
    const taken = () => called.push("taken");
    onAbort(controller.signal, kept);
    onAbort(controller.signal, taken);
    forgetAbort(controller.signal, taken);
    controller.abort();
    controller.abort();
    expect(called).toEqual(["kept"]);
  });

  test("ends a wait with its reason, and keeps nothing of one that is over", async () => {
    const controller = make();
    await abortable(Promise.resolve(1), controller.signal);
    const pending = abortable(new Promise(() => {}), controller.signal).catch((error: unknown) => error);
    controller.abort("enough");
    expect(await pending).toBe("enough");
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });
});

test("a shared signal has one listener, however many wait for it", () => {
  const { signal } = sharedAbortController();
  for (let i = 0; i < 100; i++) onAbort(signal, () => {});
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
});
