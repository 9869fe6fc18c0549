import { expect, test } from "vitest";
import { databaseStatus } from "../../../../src/services/cluster/database-status.ts";

const primary = {
  host: "db1:5432",
  role: "primary",
  usable: true,
  reason: "",
  lagBytes: null,
  lagSeconds: null,
  position: "7:1:0/500",
  inRecovery: false,
  readOnly: false,
} as const;

test("the servers are told with what is known of them, and without what is not", async () => {
  const replica = {
    ...primary,
    host: "db2:5432",
    role: "replica",
    usable: false,
    reason: "lag",
    lagBytes: 2 ** 40,
    lagSeconds: 0,
  } as const;
  const silent = {
    ...replica,
    host: "db3:5432",
    reason: "slow",
    lagBytes: null,
    lagSeconds: null,
    inRecovery: null,
    readOnly: null,
    position: null,
  };
  const view = { status: [primary, replica, silent], discoveryAgeMs: 1500, discoveryStale: false };
  const { servers, discoveryAgeSeconds } = await databaseStatus({ database: () => view })();
  expect(discoveryAgeSeconds).toBe(1.5);
  const known = { position: "7:1:0/500", inRecovery: false, readOnly: false };
  expect(servers).toEqual([
    { host: "db1:5432", role: "primary", usable: true, reason: "", ...known },
    { host: "db2:5432", role: "replica", usable: false, reason: "lag", lagBytes: String(2 ** 40), lagSeconds: 0, ...known },
    { host: "db3:5432", role: "replica", usable: false, reason: "slow", position: "" },
  ]);
});

test("without discovery there is no age, and without a database no answer", async () => {
  const view = { status: [primary], discoveryAgeMs: undefined, discoveryStale: false };
  expect(await databaseStatus({ database: () => view })()).not.toHaveProperty("discoveryAgeSeconds");
  await expect(databaseStatus({ database: () => undefined })()).rejects.toMatchObject({ code: "database_unavailable" });
});
