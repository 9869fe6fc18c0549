import { soundNetwork, type Traffic } from "../support/sim-network.ts";
import { soundTime } from "../support/sim-process.ts";
import type { SimNode } from "./sim-node.ts";
import { type Return, seedName, type World } from "./world.ts";

/** One kind of fault: begins, lasts, and undoes itself. */
export type Fault = (world: World) => Promise<void>;

/** Runs `fault` on nodes that the checkers expect nothing of meanwhile. */
async function holding(world: World, nodes: readonly SimNode[], fault: () => Promise<void>): Promise<void> {
  for (const node of nodes) world.cluster.hold(node);
  try {
    await fault();
  } finally {
    for (const node of nodes) world.cluster.release(node);
  }
}

const oneOf = <T>(world: World, values: readonly T[]): T => values[world.random.int(values.length)] as T;
const traffics: readonly Traffic[] = ["all", "packets", "streams"];
const returns: readonly Return[] = ["same", "same", "moved", "renamed"];

/** The longest that a datagram takes in bad weather. */
export const maxSpikeMs = 2000;

/** Loss up to 30 %, doubles, delays that reorder, and stragglers. Bad weather everywhere, which excuses nothing. */
const weather: Fault = async (world) => {
  const { cluster, random } = world;
  Object.assign(cluster.network.faults, {
    loss: random.float() * 0.3,
    duplication: random.float() * 0.2,
    maxDelayMs: 1 + random.float() * 80,
    spikes: random.float() * 0.02,
    spikeMs: maxSpikeMs,
  });
  await world.pause(60_000);
  Object.assign(cluster.network.faults, soundNetwork);
};

/** Two nodes do not hear each other, or one does not hear the other. */
const cut: Fault = async (world) => {
  const { network } = world.cluster;
  const [a, b] = world.pick(2);
  if (!a || !b) return;
  await holding(world, [a, b], async () => {
    if (world.random.int(2) === 0) network.cut(a.host, b.host, oneOf(world, traffics));
    else network.cutOneWay(a.host, b.host, oneOf(world, traffics));
    await world.pause(120_000);
    network.mend(a.host, b.host);
  });
};

/** One node is not heard by anyone, or hears nobody. */
const deaf: Fault = async (world) => {
  const { network } = world.cluster;
  const [node] = world.pick(1);
  if (!node) return;
  await holding(world, [node], async () => {
    const others = world.slots.map((slot) => slot.node.host).filter((host) => host !== node.host);
    const inward = world.random.int(2) === 0;
    const traffic = oneOf(world, traffics);
    for (const host of others) network.cutOneWay(inward ? host : node.host, inward ? node.host : host, traffic);
    await world.pause(90_000);
    for (const host of others) network.mend(host, node.host);
  });
};

/** The cluster falls apart, sometimes for longer than the dead are remembered. */
const partition: Fault = async (world) => {
  const { cluster, random, slots } = world;
  const hosts = slots.filter(() => random.int(2) === 0).map(({ node }) => node.host);
  cluster.holdAll(1);
  cluster.network.partition(hosts);
  await world.pause(150_000);
  cluster.network.joinGroups();
  cluster.holdAll(-1);
};

/** Processes stand still for a while. */
const pause: Fault = async (world) => {
  const { network } = world.cluster;
  const nodes = world.pick(world.share);
  await holding(world, nodes, async () => {
    for (const { host } of nodes) network.pause(host);
    await world.pause(60_000);
    for (const { host } of nodes) network.resume(host);
  });
};

/** A process stalls again and again. */
const stalls: Fault = async (world) => {
  const { network } = world.cluster;
  const [node] = world.pick(1);
  if (!node) return;
  await holding(world, [node], async () => {
    for (let i = 0; i < 10 && world.open && node.running; i++) {
      network.pause(node.host);
      await world.pause(oneOf(world, [400, 900, 2500, 7000]));
      network.resume(node.host);
      await world.pause(10_000);
    }
  });
};

/** The wall clock leaps by up to a day, which must not matter. */
const clockJump: Fault = async (world) => {
  for (const { host } of world.pick(world.share)) {
    world.cluster.network.clockOf(host).setFaults({ wallOffsetMs: (world.random.float() - 0.5) * 2 * 86_400_000 });
  }
};

/** Clocks that run up to 5 % too fast or too slow, and timers that come up to 200 ms late. */
const clockDrift: Fault = async (world) => {
  const { network } = world.cluster;
  const hosts = world.pick(world.share).map(({ host }) => host);
  for (const host of hosts) {
    network.clockOf(host).setFaults({ rate: 0.95 + world.random.float() * 0.1, maxLateMs: world.random.float() * 200 });
  }
  await world.pause(120_000);
  for (const host of hosts) network.clockOf(host).setFaults(soundTime);
};

/** Processes or machines die and come back: as they were, at another address, or under another name. */
const crash: Fault = async (world) => {
  await Promise.all(
    world.take(world.share).map(async (slot) => {
      await world.cluster.crash(slot.node, world.random.int(2) === 0);
      await world.pause(60_000);
      await world.fill(slot, oneOf(world, returns));
    }),
  );
};

/** A process dies and is back at once, before anyone has missed it. */
const quickRestart: Fault = async (world) => {
  const [slot] = world.take(1);
  if (!slot) return;
  await world.cluster.crash(slot.node);
  await world.pause(2000);
  await world.fill(slot, oneOf(world, returns));
};

/** A member leaves and comes back: the same instance, or a new one. */
const leave: Fault = async (world) => {
  const [slot] = world.take(1);
  if (!slot) return;
  const { node } = slot;
  await world.cluster.leaving(node);
  await world.pause(60_000);
  if (!node.running || world.random.int(2) === 0) return world.fill(slot, oneOf(world, returns));
  slot.busy = false;
  await world.join(node, seedName);
};

/** A member is killed while it leaves, and its successor starts at once. */
const killedInLeave: Fault = async (world) => {
  const [slot] = world.take(1);
  if (!slot) return;
  const leaving = world.cluster.leaving(slot.node);
  await world.pause(600);
  await world.cluster.crash(slot.node);
  await leaving;
  await world.fill(slot, oneOf(world, returns));
};

/** Members change their metadata, several times in a row. */
const metaUpdates: Fault = async (world) => {
  for (let i = 0; i < 5 && world.open; i++) {
    for (const node of world.pick(world.share)) {
      world.cluster.setMeta(
        node,
        Uint8Array.from({ length: world.random.int(64) }, () => world.random.int(256)),
      );
    }
    await world.pause(3000);
  }
};

/** Members send user messages. */
const userMessages: Fault = async (world) => {
  for (const node of world.pick(world.share)) for (let i = 0; i < 10; i++) node.member.broadcast(new Uint8Array(world.random.int(512)));
};

/** Everyone restarts, within a few seconds. */
const massRestart: Fault = async (world) => {
  await Promise.all(
    world.take(world.slots.length).map(async (slot) => {
      await world.pause(5000);
      await world.cluster.crash(slot.node);
      await world.pause(10_000);
      await world.fill(slot, "same");
    }),
  );
};

/** What a mixed run draws from; a name that stands twice comes twice as often. */
export const allFaults: readonly Fault[] = [
  weather,
  weather,
  cut,
  cut,
  deaf,
  partition,
  pause,
  pause,
  stalls,
  clockJump,
  clockDrift,
  clockDrift,
  crash,
  crash,
  quickRestart,
  leave,
  leave,
  killedInLeave,
  metaUpdates,
  metaUpdates,
  userMessages,
  massRestart,
];

/** Those that strike every member at one time. */
export const wholeClusterFaults: readonly Fault[] = [partition, massRestart];

/** Members that come and go, and nothing else. */
export const churnFaults: readonly Fault[] = [crash, quickRestart, leave, killedInLeave, metaUpdates];
export const pauseFaults: readonly Fault[] = [pause, stalls];
export const clockFaults: readonly Fault[] = [clockJump, clockDrift];
export const cutFaults: readonly Fault[] = [cut, deaf];
export const crashFaults: readonly Fault[] = [crash, quickRestart, massRestart];
