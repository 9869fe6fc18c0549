import { join } from "node:path";
import { expect, test } from "vitest";
import type { DiscoveryOptions } from "../../../../src/db/discovery/discovery-options.ts";
import type { DiscoveredServer, DiscoverySource } from "../../../../src/db/discovery/source.ts";
import { prepareDiscovery } from "../../../../src/db/discovery/start-discovery.ts";
import { noMetrics, silentLogger } from "../../../../src/observability/index.ts";
import { SimClock } from "../../../support/sim-clock.ts";
import { simRandom } from "../../../support/sim-random.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const deps = (clock = new SimClock()) => ({ clock, random: simRandom(1), logger: silentLogger, metrics: noMetrics });
const server: DiscoveredServer = { host: "10.0.0.1", port: 5432, role: "primary" };

/** What reaches the user of the lists, in order. */
async function applied(options: DiscoveryOptions): Promise<{ servers: readonly DiscoveredServer[]; authoritative: boolean }[]> {
  const seen: { servers: readonly DiscoveredServer[]; authoritative: boolean }[] = [];
  const loop = prepareDiscovery(options, 5433, deps()).start({
    apply: (servers, { authoritative }) => seen.push({ servers, authoritative }),
    isUsable: () => true,
  });
  await loop.ready;
  await loop[Symbol.asyncDispose]();
  return seen;
}

test("what a source that decides failovers says of roles binds, but not what a kept list says", async () => {
  await using dir = await tempDir();
  const snapshotFile = join(dir.path, "hosts.json");
  const lookup = async () => ({ servers: [server] });
  const source: DiscoverySource = { name: "test", authoritative: true, lookup };
  const dead: DiscoverySource = { ...source, lookup: () => Promise.reject(new Error("refused")) };
  expect(await applied({ source, snapshotFile })).toEqual([{ servers: [server], authoritative: true }]);
  expect(await applied({ source: dead, snapshotFile })).toEqual([{ servers: [server], authoritative: false }]);
  expect(await applied({ source: { name: "test", lookup } })).toEqual([{ servers: [server], authoritative: false }]);
});

test("seed hosts have the primary's port unless they name one", async () => {
  const source: DiscoverySource = { name: "test", lookup: async () => ({ servers: [] }) };
  const [first] = await applied({ source, seedHosts: ["db2", "10.0.0.1:1", "[fd00::1]", "[fd00::1]:2"] });
  expect(first?.servers).toEqual([
    { host: "db2", port: 5433 },
    { host: "10.0.0.1", port: 1 },
    { host: "fd00::1", port: 5433 },
    { host: "fd00::1", port: 2 },
  ]);
});

test.each<[options: DiscoveryOptions, message: RegExp]>([
  [{ source: "consul" as "dns", record: "x" }, /unknown source/],
  [{ record: "" }, /DNS could know/],
  [{ record: `${"x".repeat(64)}.test` }, /DNS could know/],
  [{ record: "a..b" }, /DNS could know/],
  [{ record: "x", intervalMs: 0 }, /within the limits/],
  [{ record: "x", intervalMs: 2 ** 31 }, /within the limits/],
  [{ record: "x", maxAgeMs: 0 }, /within the limits/],
  [{ record: "x", maxReplicaPools: Number.NaN }, /within the limits/],
  [{ record: "x", seedHosts: ["a:b:c"] }, /seed host/],
  [{ record: "x", seedHosts: ["a:70000"] }, /seed host/],
  [{ record: "x", seedHosts: ["postgres://u:geheim@h/d"] }, /seed host/],
  [{ source: "patroni", endpoints: [] }, /one endpoint/],
  [{ source: "pg_auto_failover", monitorUrl: "monitor" }, /monitor's URL/],
  [{ source: "rds" }, /instance or of a cluster/],
])("%j is refused before anything is asked", (options, message) => {
  expect(() => prepareDiscovery(options, 5432, deps())).toThrow(message);
});
