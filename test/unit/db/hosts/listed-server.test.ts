import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { addFound, type ListedServer, listServers } from "../../../../src/db/hosts/listed-server.ts";

const brief = (servers: readonly ListedServer[]) =>
  servers.map(({ address, hint, mayWrite, reads }) => [address.name, hint, mayWrite ? "writes" : "", reads]);

test("the primary and its replicas are hints: any of them may turn out as primary", () => {
  expect(brief(listServers("postgres://u@a/x", ["b:7000"]))).toEqual([
    ["a:5432", "primary", "writes", "as_replica"],
    ["b:7000", "replica", "writes", "as_replica"],
  ]);
});

test("a primary that is also listed as a replica serves reads in either role", () => {
  expect(brief(listServers("postgres://u@a/x", ["a", "b"]))).toEqual([
    ["a:5432", "primary", "writes", "always"],
    ["b:5432", "replica", "writes", "as_replica"],
  ]);
});

test.each([
  ["", true, "as_replica", undefined],
  ["?target_session_attrs=any", true, "as_replica", undefined],
  ["?target_session_attrs=prefer-standby", true, "as_replica", undefined],
  ["?target_session_attrs=read-write", true, "never", undefined],
  ["?target_session_attrs=primary&sslmode=disable", true, "never", undefined],
  ["?target_session_attrs=standby", false, "as_replica", "replica"],
  ["?target_session_attrs=read-only", false, "as_replica", "replica"],
])("a URL of several servers says what they are for (%s)", (query, mayWrite, reads, hint) => {
  const servers = listServers(`postgres://u:p%40w@h1:6000,h2/app${query}`, []);
  expect(servers.map(({ address }) => address.name)).toEqual(["h1:6000", "h2:5432"]);
  for (const server of servers) expect(server).toMatchObject({ mayWrite, reads, hint });
  expect(servers[1]?.address.url).toBe(`postgres://u:p%40w@h2/app${query.includes("ssl") ? "?sslmode=disable" : ""}`);
});

test("discovery adds servers with the configured credentials, and never takes configured ones away", () => {
  const configured = listServers("postgres://u:secret@a:6000/x", ["b"]);
  const found = addFound(
    configured,
    [
      { host: "10.0.0.1", port: 7000 },
      { host: "::1", port: 7001 },
    ],
    { authoritative: false },
  );
  expect(found.map(({ address }) => address.url)).toEqual([
    "postgres://u:secret@a:6000/x",
    "postgres://u:secret@b:6000/x",
    "postgres://u:secret@10.0.0.1:7000/x",
    "postgres://u:secret@[::1]:7001/x",
  ]);
});

test("a role that was found binds only where the source knows about failovers", () => {
  const configured = listServers("postgres://u@a/x", []);
  const found = [
    { host: "a", port: 5432, role: "replica" as const },
    { host: "b", port: 5432, role: "primary" as const },
  ];
  const roles = (authoritative: boolean) => addFound(configured, found, { authoritative }).map(({ hint, verdict }) => [hint, verdict]);
  expect(roles(true)).toEqual([
    ["primary", "replica"],
    ["primary", "primary"],
  ]);
  expect(roles(false)).toEqual([
    ["primary", undefined],
    ["primary", undefined],
  ]);
});

test("a list longer than anyone needs is refused, or cut where it was found", () => {
  const many = Array.from({ length: 300 }, (_, i) => `r${i}`);
  expect(() => listServers("postgres://u@a/x", many)).toThrow(CodedError);
  const found = many.map((host) => ({ host, port: 1 }));
  expect(addFound(listServers("postgres://u@a/x", []), found, { authoritative: false })).toHaveLength(256);
});
