import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { formatAddress, type GossipAddress } from "../../../src/gossip/address.ts";
import type { NodeRecord } from "../../../src/gossip/node-record.ts";
import { Rejoiner } from "../../../src/gossip/rejoin.ts";
import { SimClock } from "../../support/sim-clock.ts";
import { simRandom } from "../../support/sim-random.ts";

const record = (index: number, state: NodeRecord["state"]): NodeRecord => ({
  name: `n${index}`,
  host: `10.0.${index >> 8}.${index & 255}`,
  address: Uint8Array.of(10, 0, index >> 8, index & 255),
  port: 7946,
  meta: new Uint8Array(),
  versions: Uint8Array.of(1, 5, 2, 0, 0, 0),
  state,
  incarnation: 1,
  changedAtMs: 0,
});

function create(nodes: NodeRecord[], viewOf: () => readonly NodeRecord[] = () => nodes) {
  const clock = new SimClock();
  const asked: string[] = [];
  const refused: string[] = [];
  const rejoiner = new Rejoiner(
    { rejoinIntervalMs: 15_000, rejoinMemoryMs: 3_600_000 },
    {
      clock,
      random: simRandom(1),
      nodes: () => nodes,
      self: () => ({ host: "10.0.0.1", port: 7946 }),
      resolve: async (host) => [host],
      viewOf: async () => viewOf(),
      synchronize: async (to: GossipAddress) => {
        asked.push(formatAddress(to));
        throw new Error("nobody there");
      },
      onAttempt: (to, error) => {
        if (CodedError.is(error, "cluster_mismatch")) refused.push(formatAddress(to));
      },
    },
  );
  const stop = new AbortController();
  return { clock, asked, refused, rejoiner, stop, ended: rejoiner.run(stop.signal) };
}

test("many members that never return do not keep the join address from being tried each time", async () => {
  const { clock, asked, rejoiner, stop, ended } = create([record(1, "alive"), record(2, "alive"), record(3, "dead")]);
  for (let index = 4; index < 2000; index++) rejoiner.remember(record(index, "dead"));
  rejoiner.addSeed({ host: "10.9.9.9", port: 7946 });
  await clock.advance(10 * 1.5 * 15_000);
  const countOf = (address: string) => asked.filter((each) => each === address).length;
  expect(countOf("10.9.9.9:7946")).toBeGreaterThanOrEqual(10);
  expect(countOf("10.0.0.3:7946")).toBeGreaterThanOrEqual(10);
  expect(asked.length).toBe(3 * countOf("10.9.9.9:7946"));
  stop.abort();
  await ended;
  expect(clock.pending).toBe(0);
});

test("of the forgotten the last 1,024 are remembered, and none that is here again", async () => {
  const { clock, asked, rejoiner, stop, ended } = create([record(1, "alive"), record(2, "alive")]);
  for (let index = 3; index < 1100; index++) rejoiner.remember(record(index, "dead"));
  rejoiner.remember(record(2, "dead"));
  await clock.advance(50 * 15_000);
  stop.abort();
  await ended;
  const indices = asked.map((address) => Number(address.split(".")[2]) * 256 + Number.parseInt(address.split(".")[3] ?? "", 10));
  expect(indices.length).toBeGreaterThan(20);
  expect(Math.min(...indices)).toBeGreaterThanOrEqual(1100 - 1024);
});

test("where a member was lost, views are exchanged with a peer that knows someone of this cluster, and with no other", async () => {
  const strangers = [record(1, "alive"), record(2, "alive")].map((node) => ({ ...node, port: 1 }));
  const answers = [strangers, [...strangers, record(3, "alive")], [record(4, "dead")], [record(9, "alive")]];
  const results = [];
  for (const view of answers) {
    // n3 has failed, n4 was forgotten after it had: that is at 10.0.0.4.
    const { clock, asked, refused, rejoiner, stop, ended } = create(
      [record(1, "alive"), record(2, "alive"), record(3, "dead")],
      () => view,
    );
    rejoiner.remember(record(4, "dead"));
    await clock.advance(1.5 * 15_000);
    results.push([new Set(asked).size, new Set(refused).size]);
    stop.abort();
    await ended;
  }
  expect(results).toEqual([
    [0, 2],
    [2, 0],
    [2, 0],
    [0, 2],
  ]);
});

test("the members of a large cluster share the attempts: those that are lost are not besieged", async () => {
  const attemptsOf = async (living: number) => {
    const nodes = Array.from({ length: living }, (_, index) => record(index + 1, "alive"));
    const { clock, asked, stop, ended } = create([...nodes, record(5000, "dead")]);
    await clock.advance(100 * 15_000);
    stop.abort();
    await ended;
    return asked.length * living;
  };
  const [small, large] = [await attemptsOf(32), await attemptsOf(320)];
  expect(small).toBeGreaterThan(32 * 80);
  expect(large / small).toBeGreaterThan(0.7);
  expect(large / small).toBeLessThan(1.4);
});
