import { expect, test } from "vitest";
import type { HostStatus } from "../../../../src/db/hosts/host-status.ts";
import { defaultRoleEndpointOptions, type RoleEndpointOptions, roleAnswer } from "../../../../src/db/roles-http/role-answer.ts";
import { parseLagLimit, parseRoleQuestion } from "../../../../src/db/roles-http/role-question.ts";

const primary: HostStatus = {
  host: "db1:5432",
  role: "primary",
  usable: true,
  reason: "",
  lagBytes: null,
  lagSeconds: null,
  timeline: 3,
  inRecovery: false,
  readOnly: false,
  checkedMsAgo: 100,
  position: "7:3:0/500",
  confirmedRole: null,
};
const replica: HostStatus = {
  ...primary,
  host: "db2:5432",
  role: "replica",
  inRecovery: true,
  readOnly: true,
  lagBytes: 1000,
  lagSeconds: 3,
};
const silent: Partial<HostStatus> = { inRecovery: null, readOnly: null, checkedMsAgo: null, timeline: null, usable: false };

interface Scene {
  readonly servers?: readonly HostStatus[];
  readonly binds?: boolean;
  readonly ageMs?: number;
  readonly options?: Partial<RoleEndpointOptions>;
}

/** The answer to a request, as status and reason. */
function ask(target: string, { servers = [primary, replica], binds = false, ageMs = 0, options = {} }: Scene = {}): string {
  const question = parseRoleQuestion(target);
  if (typeof question !== "object") return String(question);
  const view = { status: servers, discoveryBinds: binds, discoveryAgeMs: ageMs };
  const { status, body } = roleAnswer(question, view, { ...defaultRoleEndpointOptions, ...options });
  return `${status} ${body["reason"]}`.trim();
}

test.each([
  ["/primary", "200", "503 in_recovery"],
  ["/read-write", "200", "503 in_recovery"],
  ["/replica", "503 primary", "200"],
  ["/read-only", "200", "200"],
  ["/health", "200", "200"],
])("%s of a primary and of a replica (case 53)", (path, ofPrimary, ofReplica) => {
  expect(ask(`${path}?server=db1:5432`)).toBe(ofPrimary);
  expect(ask(`${path}?server=DB2`)).toBe(ofReplica);
  expect(ask(`${path}?server=db3:5432`)).toBe("404 unknown_server");
  const down = { servers: [{ ...primary, ...silent, reason: "connect_failed" }] };
  expect(ask(`${path}?server=db1:5432`, down)).toBe(path === "/replica" ? "503 primary" : "503 connect_failed");
});

test.each<[string, Partial<HostStatus>, Omit<Scene, "servers">, string]>([
  ["is between promotion and its first write", { readOnly: true, role: "none", reason: "demoted" }, {}, "503 read_only"],
  ["is one of two", { role: "none", reason: "second_primary" }, {}, "503 second_primary"],
  ["is isolated: the monitor has named another", { role: "none", reason: "not_confirmed" }, { binds: true }, "503 not_confirmed"],
  ["is not known to the monitor", {}, { binds: true }, "503 not_confirmed"],
  ["is confirmed by the monitor", { confirmedRole: "primary" }, { binds: true }, "200"],
  ["was confirmed by a monitor that is away", { confirmedRole: "primary" }, { binds: true, ageMs: 3_600_000 }, "200"],
  [
    "was confirmed too long ago",
    { confirmedRole: "primary" },
    { binds: true, ageMs: 5001, options: { maxDiscoveryAgeMs: 5000 } },
    "503 discovery_stale",
  ],
  ["has not been checked for long", { checkedMsAgo: 10_001 }, {}, "503 not_checked"],
])("a server that accepts writes and %s", (_, more, scene, wanted) => {
  expect(ask("/primary?server=db1:5432", { ...scene, servers: [{ ...primary, ...more }] })).toBe(wanted);
});

test.each<[string, Partial<HostStatus>, string]>([
  ["", {}, "200"],
  ["", { usable: false, reason: "lag" }, "503 lag"],
  ["&lag=1000", { usable: false, reason: "lag" }, "200"],
  ["&lag=999", {}, "503 lag"],
  ["&lag=16MB", { lagBytes: 16 * 1024 * 1024 }, "200"],
  ["&lag=16MB", { lagBytes: 16 * 1024 * 1024 + 1 }, "503 lag"],
  ["&lag=5s", {}, "200"],
  ["&lag=2s", {}, "503 lag"],
  ["&lag=2s", { lagBytes: 0, lagSeconds: 3600 }, "200"],
  ["&lag=2s", { lagSeconds: null }, "503 lag_unknown"],
  ["&lag=1GB", { lagBytes: null }, "503 lag_unknown"],
  ["&lag=1GB", { ...silent, reason: "slow" }, "503 slow"],
  ["&lag=1GB", { role: "none", reason: "foreign_system" }, "503 foreign_system"],
])("/replica%s of a replica that is %j", (query, more, wanted) => {
  expect(ask(`/replica?server=db2:5432${query}`, { servers: [primary, { ...replica, ...more }] })).toBe(wanted);
});

test("without a server, one that qualifies is named: the replica that lags least, for reads a replica first", () => {
  const near = { ...replica, host: "db3:5432", lagBytes: 10 };
  const view = { status: [primary, replica, near], discoveryBinds: false, discoveryAgeMs: undefined };
  const named = (target: string) => roleAnswer(parseRoleQuestion(target) as never, view, defaultRoleEndpointOptions).body["server"];
  expect(["/primary", "/replica", "/read-only", "/health"].map(named)).toEqual(["db1:5432", "db3:5432", "db3:5432", "db3:5432"]);
  expect(ask("/primary", { servers: [replica] })).toBe("503 no_primary");
  expect(ask("/read-write", { servers: [] })).toBe("503 no_read_write");
  expect(ask("/read-only", { servers: [primary] })).toBe("200");
});

test.each([
  ["16MB", { bytes: 16_777_216 }],
  ["1 GiB", { bytes: 1_073_741_824 }],
  ["0", { bytes: 0 }],
  ["250ms", { ms: 250 }],
  ["2min", { ms: 120_000 }],
  ["", undefined],
  ["-1", undefined],
  ["5 parsecs", undefined],
  ["9999999999999999", undefined],
])("a lag of %j", (text, wanted) => {
  expect(parseLagLimit(text)).toEqual(wanted);
});

test("what is no question of ours is told apart", () => {
  expect(["/", "/primary/", "/master", "/-/health"].map(parseRoleQuestion)).toEqual([undefined, undefined, undefined, undefined]);
  expect(parseRoleQuestion("/replica?lag=x")).toBe("bad_lag");
  expect(["db1:", "a b:1", "db1:5432/x", "", "db1:123456"].map((server) => parseRoleQuestion(`/primary?server=${server}`))).toEqual(
    Array(5).fill("bad_server"),
  );
  expect(parseRoleQuestion("/primary?server=[::1]:6000")).toMatchObject({ server: "[::1]:6000" });
});
