import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../../src/observability/index.ts";
import { keepPeers, readKeptPeers } from "../../../src/server/kept-peers.ts";
import { SimClock } from "../../support/sim-clock.ts";

let dir: string;
let stop: AbortController;
let clock: SimClock;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "kept-peers-"));
  stop = new AbortController();
  clock = new SimClock();
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true });
});

test("live members are kept for one cluster, at most sixteen, and the last ones stay when this node is alone", async () => {
  let live: string[] = Array.from({ length: 20 }, (_, i) => `10.0.0.${i}:7946`);
  const loop = keepPeers(dir, "c1", () => live, { clock, logger: silentLogger }, stop.signal);
  await clock.advance(1000);
  expect(readKeptPeers(dir, "c1")).toHaveLength(16);
  expect(readKeptPeers(dir, "c2")).toEqual([]);
  live = ["10.0.0.7:7946"];
  await clock.advance(1000);
  live = [];
  await clock.advance(5000);
  expect(readKeptPeers(dir, "c1")).toEqual(["10.0.0.7:7946"]);
  stop.abort();
  await loop;
});

test("a list that cannot be written is a warning, and the next change is tried again", async () => {
  const warnings: string[] = [];
  let live = ["a:1"];
  mkdirSync(join(dir, "peers.json"));
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const loop = keepPeers(dir, "c1", () => live, { clock, logger }, stop.signal);
  await clock.advance(3000);
  expect(warnings).toHaveLength(1);
  rmdirSync(join(dir, "peers.json"));
  live = ["b:1"];
  await clock.advance(1000);
  expect(readKeptPeers(dir, "c1")).toEqual(["b:1"]);
  stop.abort();
  await loop;
});

test("nothing is kept of a node that never had company", async () => {
  const loop = keepPeers(dir, "c1", () => [], { clock, logger: silentLogger }, stop.signal);
  await clock.advance(10_000);
  expect(existsSync(join(dir, "peers.json"))).toBe(false);
  stop.abort();
  await loop;
});
