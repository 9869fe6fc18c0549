import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { type Clock, CodedError, systemClock } from "../../../src/base/index.ts";
import { sendAnswer } from "../../../src/gateway/send-answer.ts";

/** A response whose client takes what it is told to take. */
class FakeResponse extends EventEmitter {
  headersSent = false;
  writableFinished = false;
  ended = false;
  readonly written: number[] = [];

  writeHead(): void {
    this.headersSent = true;
  }

  write(chunk: Uint8Array): boolean {
    this.written.push(chunk.length);
    return false;
  }

  end(): void {
    this.ended = true;
    this.emit("ended");
  }
}

function start(chunks: readonly Uint8Array[]) {
  const response = new FakeResponse();
  const timers = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    timer: (_ms, fn) => {
      timers.add(fn);
      return { [Symbol.dispose]: () => void timers.delete(fn) };
    },
  };
  const client = new AbortController();
  const onIdle = () => client.abort(new CodedError("deadline_exceeded", "idle"));
  const source = (async function* () {
    yield* chunks;
  })();
  const sent = sendAnswer(response as unknown as ServerResponse, {}, source, { idleTimeoutMs: 1000, onIdle, signal: client.signal }, clock);
  sent.catch(() => {});
  return { response, timers, sent };
}

test("a large chunk goes out in pieces, and the client's time begins anew with each", async () => {
  const { response, timers, sent } = start([Buffer.alloc(200_000)]);
  for (let pieces = 1; pieces <= 4; pieces++) {
    await new Promise(setImmediate);
    expect(response.written).toHaveLength(pieces);
    expect(timers.size).toBe(1);
    response.emit("drain");
  }
  await once(response, "ended");
  response.emit("finish");
  expect(await sent).toBe(200_000);
  expect(response.written).toEqual([65_536, 65_536, 65_536, 3392]);
  expect(timers.size).toBe(0);
});

test("a client that never takes the end of an answer is given up like any other", async () => {
  const { response, timers, sent } = start([]);
  await once(response, "ended");
  await new Promise(setImmediate);
  expect(timers.size).toBe(1);
  for (const timer of timers) timer();
  await expect(sent).rejects.toMatchObject({ code: "deadline_exceeded" });
  expect(timers.size).toBe(0);
});
