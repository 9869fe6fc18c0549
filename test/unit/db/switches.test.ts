import { expect, test } from "vitest";
import { defaultSwitches, Switches, type SwitchName } from "../../../src/db/switches.ts";

test("switches have their defaults until they are set, and what is set last counts", () => {
  const switches = new Switches({ doubleReplicationLagTime: true }, "web");
  const names = Object.keys(defaultSwitches) as SwitchName[];
  expect(Object.fromEntries(names.map((name) => [name, switches[name]]))).toEqual({ ...defaultSwitches, doubleReplicationLagTime: true });
  switches.set("doubleReplicationLagTime", false);
  switches.set("replicaReads", false);
  expect([switches.doubleReplicationLagTime, switches.replicaReads]).toEqual([false, false]);
});

test("one setting serves processes of every role: each takes its own part, or the default", () => {
  const setting = { job: false } as const;
  const [web, job] = [new Switches({ replicaReads: setting }, "web"), new Switches({ replicaReads: setting }, "job")];
  expect([web.replicaReads, job.replicaReads]).toEqual([true, false]);
  web.set("replicaReads", { web: false });
  job.set("replicaReads", { web: false });
  expect([web.replicaReads, job.replicaReads]).toEqual([false, true]);
});
