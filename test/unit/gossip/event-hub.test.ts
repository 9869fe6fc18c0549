import { expect, test } from "vitest";
import { EventHub } from "../../../src/gossip/event-hub.ts";
import type { MemberEvent } from "../../../src/gossip/member-event.ts";
import { noMetrics, silentLogger } from "../../../src/observability/index.ts";

const message = (byte: number): MemberEvent => ({ type: "message", payload: Uint8Array.of(byte) });

test("all listeners hear events in one order, also where one of them causes another event, and one that throws harms no other", () => {
  const hub = new EventHub({ counter: noMetrics.counter("c", "", []), logger: silentLogger });
  const heard: number[][] = [[], []];
  hub.subscribe((event) => {
    const byte = event.type === "message" ? (event.payload[0] as number) : 0;
    heard[0]?.push(byte);
    if (byte < 3) hub.emit(message(byte + 1));
    throw new Error("no listener should");
  });
  hub.subscribe((event) => heard[1]?.push(event.type === "message" ? (event.payload[0] as number) : 0));
  hub.emit(message(1));
  hub.emit(message(9));
  expect(heard).toEqual([
    [1, 2, 3, 9],
    [1, 2, 3, 9],
  ]);
});
