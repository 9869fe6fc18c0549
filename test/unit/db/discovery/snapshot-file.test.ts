import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemRandom } from "../../../../src/base/index.ts";
import { SnapshotFile } from "../../../../src/db/discovery/snapshot-file.ts";
import type { DiscoveredServer } from "../../../../src/db/discovery/source.ts";
import { failureOf } from "../../../support/failure-of.ts";
import { SimClock } from "../../../support/sim-clock.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const servers: DiscoveredServer[] = [
  { host: "10.0.0.1", port: 5432, role: "replica", name: "one" },
  { host: "fd00::1", port: 5433 },
];
const dayMs = 24 * 3_600_000;

test("a kept list comes back with its age, and not at all after a day or for another way of finding servers", async () => {
  await using dir = await tempDir();
  const clock = new SimClock();
  const at = (identity: string) =>
    new SnapshotFile({ file: join(dir.path, "sub", "hosts.json"), identity, maxAgeMs: dayMs }, { clock, random: systemRandom });
  expect(await at("a").load()).toBeUndefined();
  await at("a").save(servers);
  await clock.advance(5000);
  expect(await at("a").load()).toEqual({ servers, ageMs: 5000 });
  expect(await at("b").load()).toBeUndefined();
  await clock.advance(dayMs - 5000);
  expect(await at("a").load()).toMatchObject({ ageMs: dayMs });
  await clock.advance(1);
  expect(await at("a").load()).toBeUndefined();
});

test("writers at once leave one whole list and nothing else", async () => {
  await using dir = await tempDir();
  const file = join(dir.path, "hosts.json");
  const store = () => new SnapshotFile({ file, identity: "a", maxAgeMs: dayMs }, { clock: new SimClock(), random: systemRandom });
  await Promise.all(Array.from({ length: 20 }, () => store().save(servers)));
  expect(await store().load()).toEqual({ servers, ageMs: 0 });
  expect(await readdir(dir.path)).toEqual(["hosts.json"]);
});

test("a list from a clock that was ahead is fresh; a damaged one is refused; odd servers in it are left out", async () => {
  await using dir = await tempDir();
  const file = join(dir.path, "hosts.json");
  const clock = new SimClock();
  const store = new SnapshotFile({ file, identity: "a", maxAgeMs: dayMs }, { clock, random: systemRandom });
  const write = (content: unknown) => writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  await write({
    version: 1,
    identity: "a",
    savedAtMs: clock.now() + 1e9,
    servers: [servers[0], null, 7, { host: 3, port: 1 }, { host: "a/b", port: 1 }],
  });
  expect(await store.load()).toEqual({ servers: [servers[0]], ageMs: 0 });
  await write({ version: 1, identity: "a", savedAtMs: clock.now(), servers: [] });
  expect(await store.load()).toBeUndefined();
  for (const content of [
    "",
    "{",
    "null",
    "[]",
    { version: 2, identity: "a", savedAtMs: 1, servers },
    { version: 1, identity: "a", savedAtMs: "x", servers },
  ]) {
    await write(content);
    expect((await failureOf(store.load())).code).toBe("corrupt");
  }
});
