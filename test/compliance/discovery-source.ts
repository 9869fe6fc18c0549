import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { DiscoveredServer, DiscoverySource } from "../../src/db/index.ts";

/** A source under test, over something that answers as it is told. */
export interface DiscoverySourceBench extends AsyncDisposable {
  readonly source: DiscoverySource;
  /** Makes what is asked know exactly these servers. */
  set(servers: readonly DiscoveredServer[]): Promise<void>;
  /** Makes what is asked fail from now on. */
  fail(): Promise<void>;
  /** Makes what is asked take every question and answer none. */
  silence(): Promise<void>;
}

/** What cannot be done to what a source asks; the tests of it are left out. */
interface Limits {
  readonly neverChanges?: boolean;
  readonly neverSilent?: boolean;
}

/** What a bench's source names at first. */
export const firstServers: readonly DiscoveredServer[] = [
  { host: "10.0.0.1", port: 5432 },
  { host: "10.0.0.2", port: 5432 },
  { host: "10.0.0.3", port: 5432 },
];

const places = (servers: readonly DiscoveredServer[]) => servers.map(({ host, port }) => ({ host, port }));

/** The contract of a discovery source, as tests. */
export function describeDiscoverySource(name: string, start: () => Promise<DiscoverySourceBench>, limits: Limits = {}): void {
  const look = async (source: DiscoverySource, signal = neverAborted) => places((await source.lookup(signal)).servers);

  test(`${name}: has a name that fits a metric's label`, async () => {
    await using bench = await start();
    expect(bench.source.name).toMatch(/^[a-z][a-z0-9_]{1,30}$/);
  });

  test(`${name}: names all servers, the same each time`, async () => {
    await using bench = await start();
    for (let i = 0; i < 3; i++) {
      const found = await look(bench.source);
      expect(found).toHaveLength(3);
      expect(found).toEqual(expect.arrayContaining([...firstServers]));
    }
  });

  test(`${name}: a lookup that is given up ends soon, and others work afterwards`, async () => {
    await using bench = await start();
    await expect(look(bench.source, AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up");
    expect(await look(bench.source)).toHaveLength(3);
  });

  test(`${name}: watching ends with the signal`, async () => {
    await using bench = await start();
    const controller = new AbortController();
    const watching = bench.source.watch?.(() => {}, controller.signal);
    await look(bench.source);
    controller.abort();
    await watching;
  });

  if (!limits.neverChanges) describeChanges(name, start, look);
  if (limits.neverSilent) return;

  test(`${name}: silence ends with the signal`, async () => {
    await using bench = await start();
    await bench.silence();
    const controller = new AbortController();
    const lookup = look(bench.source, controller.signal);
    controller.abort(new Error("given up"));
    await expect(lookup).rejects.toThrow("given up");
  });
}

function describeChanges(
  name: string,
  start: () => Promise<DiscoverySourceBench>,
  look: (source: DiscoverySource) => Promise<unknown[]>,
): void {
  test(`${name}: servers that come and go are seen`, async () => {
    await using bench = await start();
    const servers = [...firstServers.slice(1), { host: "10.0.0.4", port: 5432 }];
    await bench.set(servers);
    expect(await look(bench.source)).toEqual(expect.arrayContaining(servers));
    expect(await look(bench.source)).toHaveLength(3);
  });

  test(`${name}: a failure is an error, not an answer, and does not last`, async () => {
    await using bench = await start();
    await look(bench.source);
    await bench.fail();
    await expect(look(bench.source)).rejects.toThrow();
    await expect(look(bench.source)).rejects.toThrow();
    await bench.set(firstServers);
    expect(await look(bench.source)).toHaveLength(3);
  });
}
