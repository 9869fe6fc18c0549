import { afterEach, expect, test } from "vitest";
import { neverAborted, systemClock } from "../../../../src/base/index.ts";
import { defaultHostOptions, Host } from "../../../../src/db/hosts/host.ts";
import { HostList, type HostSnapshot, noReplicaReason, pickReplica, type ReplicaState } from "../../../../src/db/hosts/host-list.ts";
import { silentLogger } from "../../../../src/observability/index.ts";
import { simRandom } from "../../../support/sim-random.ts";

const made: Host[] = [];
afterEach(() => Promise.all(made.splice(0).map((host) => host.close())));

const host = (role: "primary" | "replica", port: number) => {
  const address = { url: `postgres://u@127.0.0.1:${port}/x`, name: `127.0.0.1:${port}` };
  const one = new Host(role, address, defaultHostOptions, { clock: systemClock, logger: silentLogger });
  made.push(one);
  return one;
};

const state = (port: number, given: Partial<ReplicaState> = {}): ReplicaState => ({
  host: host("replica", port),
  usable: true,
  reason: "",
  weight: 1,
  reached: undefined,
  lagBytes: undefined,
  lagMs: undefined,
  ...given,
});

const snapshot = (replicas: readonly ReplicaState[]): HostSnapshot => ({ primary: undefined, withoutPrimary: "no_primary", replicas });

test("every usable replica is picked, and none that is out or excepted", () => {
  const replicas = [state(1), state(2), state(3), state(4, { usable: false, reason: "connect_failed" })];
  const random = simRandom(1);
  const except = new Set([replicas[0]?.host as Host]);
  const picked = new Set(Array.from({ length: 200 }, () => pickReplica(snapshot(replicas), except, random)?.name));
  expect([...picked].sort()).toEqual(["127.0.0.1:2", "127.0.0.1:3"]);
});

test("without a usable replica nothing is picked", () => {
  const replicas = [state(1, { usable: false, reason: "lost" })];
  expect(pickReplica(snapshot(replicas), new Set(), simRandom(1))).toBeUndefined();
});

test.each(["random", "least_outstanding"] as const)("a replica that starts slowly is given its share only (%s)", (choice) => {
  const replicas = [state(1), state(2, { weight: 0.1 }), state(3)];
  const random = simRandom(7);
  const picks = Array.from({ length: 3000 }, () => pickReplica(snapshot(replicas), new Set(), random, choice)?.name);
  const share = picks.filter((name) => name === "127.0.0.1:2").length / picks.length;
  expect(share).toBeGreaterThan(0.02);
  expect(share).toBeLessThan(0.08);
});

test("of two replicas the less busy one is picked, and one that has no room only where none has", async () => {
  const replicas = [state(1), state(2)];
  const waiting = Array.from({ length: defaultHostOptions.maxOutstandingPerReplica }, () =>
    replicas[0]?.host.acquire(neverAborted).catch(() => {}),
  );
  const picked = new Set(Array.from({ length: 50 }, () => pickReplica(snapshot(replicas), new Set(), simRandom(3))?.name));
  expect([...picked]).toEqual(["127.0.0.1:2"]);
  expect(pickReplica(snapshot(replicas.slice(0, 1)), new Set(), simRandom(3))?.name).toBe("127.0.0.1:1");
  await Promise.all(waiting);
});

test("reads that find no replica say whether lag is the reason", () => {
  const lagging = state(1, { usable: false, reason: "lag" });
  const down = state(2, { usable: false, reason: "connect_failed" });
  expect(noReplicaReason(snapshot([]))).toBe("no_replica");
  expect(noReplicaReason(snapshot([lagging]))).toBe("lag");
  expect(noReplicaReason(snapshot([lagging, down]))).toBe("no_replica");
});

test("whoever waits for a primary gets the next one, and may stop waiting", async () => {
  const hosts = new HostList();
  const [first, second] = [host("primary", 8), host("primary", 9)];
  const controller = new AbortController();
  const waits = [undefined, first].map((except) => hosts.primaryOtherThan(except, neverAborted));
  const given = hosts.primaryOtherThan(undefined, controller.signal);
  controller.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  hosts.publish({ primary: { host: first, position: undefined }, withoutPrimary: "", replicas: [] });
  expect(await waits[0]).toBe(first);
  hosts.publish({ primary: { host: second, position: undefined }, withoutPrimary: "", replicas: [] });
  expect(await waits[1]).toBe(second);
});
