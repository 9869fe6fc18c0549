import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { abortOnReturn } from "../../../src/git/abort-on-return.ts";
import { feed } from "../../../src/git/feed.ts";
import { Outbox } from "../../../src/git/outbox.ts";
import { progressFilter, pumpProgress } from "../../../src/git/push-progress.ts";
import { untilAborted } from "../../../src/git/until-aborted.ts";
import { SimClock } from "../../support/sim-clock.ts";

const never = new Promise<void>(() => {});

async function* bytesOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test("feeding goes at the child's pace and ends with end-of-file", async () => {
  const stdin = new PassThrough({ highWaterMark: 2 });
  const feeding = feed(bytesOf("one", "two", "three"), stdin, never);
  let text = "";
  for await (const chunk of stdin) text += chunk;
  expect(text).toBe("onetwothree");
  expect(await feeding).toEqual({ sourceEnded: true, error: undefined });
});

test("feeding stops when the child is gone, also while the source or the child keeps it waiting", async () => {
  const silent: AsyncIterator<Uint8Array> = { next: () => new Promise(() => {}) };
  expect(await feed(silent, new PassThrough(), Promise.resolve())).toEqual({ sourceEnded: false, error: undefined });
  const full = new PassThrough({ highWaterMark: 1 });
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const feeding = feed(bytesOf("one", "two"), full, stopped);
  stop();
  expect(await feeding).toEqual({ sourceEnded: false, error: undefined });
});

test("what the source throws is told, not thrown", async () => {
  const error = new Error("reset");
  const broken: AsyncIterator<Uint8Array> = { next: () => Promise.reject(error) };
  expect(await feed(broken, new PassThrough(), never)).toEqual({ sourceEnded: true, error });
});

test("a consumer that leaves during a wait aborts the work and waits for its cleaning", async () => {
  let cleaned = false;
  const stream = abortOnReturn(new AbortController().signal, async function* (signal) {
    try {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      yield 1;
    } finally {
      await Promise.resolve();
      cleaned = true;
    }
  });
  const iterator = stream[Symbol.asyncIterator]();
  const pending = expect(iterator.next()).rejects.toMatchObject({ code: "cancelled" });
  await iterator.return?.();
  expect(cleaned).toBe(true);
  await pending;
});

test("a reader of a silent source is let go when the signal aborts", async () => {
  const controller = new AbortController();
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<number>>(() => {}) }) };
  const reading = untilAborted(silent, controller.signal)[Symbol.asyncIterator]().next();
  controller.abort(new Error("enough"));
  await expect(reading).rejects.toThrow("enough");
});

test("progress and complaints about objects pass, lines that may name paths do not", () => {
  const outbox = new Outbox();
  const filter = progressFilter(outbox);
  for (const piece of [
    "Resolving del",
    "tas:  50% (1/2)\rResolving deltas: 100% (2/2), done.\nfatal: /secret/p",
    "ath\nerror: object 12ab: badDate: x\n",
  ]) {
    filter(Buffer.from(piece));
  }
  expect(outbox.take().map((chunk) => Buffer.from(chunk).toString())).toEqual([
    "Resolving deltas:  50% (1/2)\r",
    "Resolving deltas: 100% (2/2), done.\n",
    "error: object 12ab: badDate: x\n",
  ]);
});

test("a waiting client hears messages at once, and a sign of life when there are none", async () => {
  const clock = new SimClock();
  const outbox = new Outbox();
  let finish = () => {};
  const work = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const pump = pumpProgress(work, outbox, { clock, keepAliveMs: 5000 });
  expect((await clock.until(pump.next())).value).toEqual(Buffer.from("0005\x01"));
  expect(clock.monotonic()).toBe(5000);
  const message = pump.next();
  outbox.put(Buffer.from("hi"));
  expect((await message).value).toEqual(Buffer.from("0007\x02hi"));
  const end = pump.next();
  finish();
  expect(await end).toEqual({ done: true, value: undefined });
  expect(clock.monotonic()).toBe(5000);
});
