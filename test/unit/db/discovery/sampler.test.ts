import { expect, test } from "vitest";
import { sampleServers } from "../../../../src/db/discovery/sampler.ts";
import { type DiscoveredServer, serverKey } from "../../../../src/db/discovery/source.ts";

const grid = (hosts: number, ports: number): DiscoveredServer[] =>
  Array.from({ length: hosts * ports }, (_, i) => ({ host: `h${i % hosts}`, port: 6000 + Math.floor(i / hosts) }));
const keys = (servers: readonly DiscoveredServer[]) => servers.map(serverKey).sort();

test("one seed gives one choice, in whatever order the servers come; other seeds give others (case 49)", () => {
  const servers = grid(8, 1);
  const chosen = keys(sampleServers(servers, 3, "seed").chosen);
  expect(chosen).toHaveLength(3);
  expect(keys(sampleServers([...servers].reverse(), 3, "seed").chosen)).toEqual(chosen);
  const choices = new Set(Array.from({ length: 50 }, (_, i) => keys(sampleServers(servers, 3, `seed ${i}`).chosen).join()));
  expect(choices.size).toBeGreaterThan(20);
});

test("the choice is spread over hosts: four of three hosts with four ports each are 2, 1 and 1 (case 49)", () => {
  for (let seed = 0; seed < 20; seed++) {
    const { chosen, excluded } = sampleServers(grid(3, 4), 4, String(seed));
    const counts = [0, 1, 2].map((i) => chosen.filter(({ host }) => host === `h${i}`).length).sort();
    expect(counts).toEqual([1, 1, 2]);
    expect(keys([...chosen, ...excluded])).toEqual(keys(grid(3, 4)));
  }
});

test("a server that comes or goes moves at most one of the others", () => {
  for (let seed = 0; seed < 20; seed++) {
    const before = new Set(keys(sampleServers(grid(10, 1), 4, String(seed)).chosen));
    const after = keys(sampleServers(grid(11, 1), 4, String(seed)).chosen);
    expect(after.filter((key) => !before.has(key)).length).toBeLessThanOrEqual(1);
  }
});

test("primaries are always chosen and do not count; without a need nothing is left out", () => {
  const primary: DiscoveredServer = { host: "p", port: 1, role: "primary" };
  const { chosen } = sampleServers([...grid(5, 1), primary], 2, "x");
  expect(chosen).toHaveLength(3);
  expect(chosen).toContain(primary);
  expect(sampleServers(grid(2, 1), 2, "x").excluded).toEqual([]);
});
