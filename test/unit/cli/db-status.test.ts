import { expect, test } from "vitest";
import type { DatabaseServer__Output } from "../../../src/proto/gen/gitaly_gossip/v1/DatabaseServer.ts";
import { runFakeCli } from "../../support/fake-cli.ts";
import { fakeConnect } from "../../support/fake-cluster.ts";

const primary: DatabaseServer__Output = {
  host: "[::1]:5432",
  role: "primary",
  usable: true,
  reason: "",
  position: "7:1:0/500",
  inRecovery: false,
  readOnly: false,
};
const replica: DatabaseServer__Output = {
  ...primary,
  host: "db2:6000",
  role: "replica",
  usable: false,
  reason: "lag",
  lagBytes: "2048",
  lagSeconds: 75.5,
  inRecovery: true,
  readOnly: true,
};

function status(line: string, servers: DatabaseServer__Output[], discoveryAgeSeconds?: number) {
  const response = { servers, ...(discoveryAgeSeconds === undefined ? {} : { discoveryAgeSeconds }) };
  return runFakeCli(line, { deps: { connect: fakeConnect({ cluster: { databaseStatus: async () => response } }) } });
}

test("db status --json has the documented shape", async () => {
  const { code, stdout } = await status("db status --json", [primary, replica], 12.5);
  expect(code).toBe(0);
  const known = { position: "7:1:0/500" };
  expect(JSON.parse(stdout)).toEqual({
    primary: {
      ...{ host: "::1", port: 5432, role: "primary", usable: true, reason: "", lag_bytes: null, lag_seconds: null },
      ...{ ...known, in_recovery: false, read_only: false },
    },
    replicas: [
      {
        ...{ host: "db2", port: 6000, role: "replica", usable: false, reason: "lag", lag_bytes: 2048, lag_seconds: 75.5 },
        ...{ ...known, in_recovery: true, read_only: true },
      },
    ],
    discovery_age_seconds: 12.5,
  });
});

test("db status for people is a table with reasons, and fails where there is no primary", async () => {
  const { stdout } = await status("db status", [primary, replica], 61);
  expect(stdout.split("\n")).toEqual([
    "SERVER      ROLE     USABLE  REASON  BEHIND   AGE     POSITION",
    "[::1]:5432  primary  yes     -       -        -       7:1:0/500",
    "db2:6000    replica  no      lag     2.0 KiB  1m 15s  7:1:0/500",
    "",
    "list of servers: 1m 1s old",
    "",
  ]);
  const none = await status("db status --json", [replica]);
  expect(none.code).toBe(1);
  expect(JSON.parse(none.stdout)).toMatchObject({ primary: null, discovery_age_seconds: null });
});
