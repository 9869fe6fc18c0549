import { expect, test } from "vitest";
import { SuspicionTimers } from "../../../src/gossip/suspicion-timers.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { SimNetwork } from "../../support/sim-network.ts";
import { simRandom } from "../../support/sim-random.ts";

const host = "10.0.0.1";

function create() {
  const clock = new SimClock();
  const network = new SimNetwork(clock, simRandom(1));
  const expired: string[] = [];
  const timers = new SuspicionTimers(
    { stallMs: 250, graceMs: 1000 },
    {
      clock: network.clockOf(host),
      afterPoll: (fn) => network.afterPoll(host, fn),
      onExpired: (node, incarnation) => expired.push(`${node}/${incarnation}`),
    },
  );
  return { clock, network, timers, expired };
}

test("a suspicion expires when its time is over, setting it anew moves it, disarming ends it", async () => {
  const { clock, timers, expired } = create();
  timers.arm("a", 1, 1000);
  timers.arm("b", 2, 1000);
  timers.arm("c", 3, 1000);
  timers.arm("b", 2, 3000);
  timers.disarm("c");
  await clock.advance(2000);
  expect(expired).toEqual(["a/1"]);
  await clock.advance(2000);
  expect(expired).toEqual(["a/1", "b/2"]);
});

test("a refutation that waits to be read when the time is over still counts", async () => {
  const { clock, network, timers, expired } = create();
  timers.arm("a", 1, 1000);
  network.pause(host);
  await clock.advance(1100);
  network.whenRunning(host, () => timers.disarm("a"));
  network.resume(host);
  await clock.advance(5000);
  expect(expired).toEqual([]);
});

test("after a stall a suspect gets more time, once", async () => {
  const { clock, network, timers, expired } = create();
  timers.arm("a", 1, 1000);
  network.pause(host);
  await clock.advance(3000);
  network.resume(host);
  await clock.advance(900);
  expect(expired).toEqual([]);
  await clock.advance(200);
  expect(expired).toEqual(["a/1"]);
});
