import { afterEach, expect, test } from "vitest";
import { defaultHostOptions, Host } from "../../../../src/db/hosts/host.ts";
import { HostList, pickReplica } from "../../../../src/db/hosts/host-list.ts";
import { silentLogger } from "../../../../src/observability/index.ts";
import { simRandom } from "../../../support/sim-random.ts";

const made: Host[] = [];
afterEach(() => Promise.all(made.splice(0).map((host) => host.close())));

const host = (role: "primary" | "replica", port: number) => {
  const address = { url: `postgres://u@127.0.0.1:${port}/x`, name: `127.0.0.1:${port}` };
  const one = new Host(role, address, defaultHostOptions, { logger: silentLogger });
  made.push(one);
  return one;
};

test("every usable replica is picked, and none that is out or excepted", () => {
  const replicas = [1, 2, 3, 4].map((port) => host("replica", port));
  const hosts = new HostList(host("primary", 9), replicas);
  hosts.judge(replicas[3] as Host, { usable: false, reason: "connect_failed" });
  const random = simRandom(1);
  const picked = new Set(Array.from({ length: 200 }, () => pickReplica(hosts.snapshot, new Set([replicas[0] as Host]), random)?.name));
  expect([...picked].sort()).toEqual(["127.0.0.1:2", "127.0.0.1:3"]);
});

test("without a usable replica nothing is picked", () => {
  const replica = host("replica", 1);
  const hosts = new HostList(host("primary", 9), [replica]);
  hosts.judge(replica, { usable: false, reason: "lost" });
  expect(pickReplica(hosts.snapshot, new Set(), simRandom(1))).toBeUndefined();
});

test("a snapshot that a request holds does not change under it", () => {
  const replica = host("replica", 1);
  const hosts = new HostList(host("primary", 9), [replica]);
  const before = hosts.snapshot;
  hosts.judge(replica, { usable: false, reason: "lost" });
  expect(before.replicas[0]?.usable).toBe(true);
  expect(hosts.snapshot.replicas[0]?.usable).toBe(false);
});
