import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { parseConnectionUrl, parseServerAddress } from "../../../../src/db/hosts/connection-url.ts";

const primary = parseServerAddress("postgres://user:secret@db1:6000/app?sslmode=require", "primary");

test("a server's name holds no credentials", () => {
  expect(primary.name).toBe("db1:6000");
  expect(parseServerAddress("postgres://u@db2/app", "primary").name).toBe("db2:5432");
  expect(parseServerAddress("postgres:///app?host=/run/postgresql", "primary").name).toBe("/run/postgresql:5432");
});

test("a bare host takes the rest from the primary", () => {
  expect(parseServerAddress("db2", "replicas[0]", primary)).toEqual({
    name: "db2:6000",
    url: "postgres://user:secret@db2:6000/app?sslmode=require",
  });
  expect(parseServerAddress("db2:7000", "replicas[0]", primary).name).toBe("db2:7000");
});

test.each([
  "postgres://user:secret@h1:1,h2:2/app",
  "postgres://user:secret@h1,h2/app",
  "mysql://user:secret@h/app",
  "user:secret@h/app",
  "postgres://user:secret@h:99999/app",
  "",
])("a text that is no URL of one server is refused without showing its password (%#)", (text) => {
  let failure: unknown;
  try {
    parseServerAddress(text, "primary");
  } catch (error) {
    failure = error;
  }
  expect(CodedError.is(failure, "bad_config")).toBe(true);
  expect(JSON.stringify([failure, (failure as Error).message, (failure as CodedError).fields, (failure as Error).cause])).not.toContain(
    "secret",
  );
});

test.each([
  ["postgres://h1:1,h2:2/db", ["h1:1", "h2:2"], "any"],
  ["postgresql://u:p@h1,h2:2,[::1]:3/db?target_session_attrs=prefer-standby", ["h1:5432", "h2:2", "[::1]:3"], "prefer-standby"],
  ["postgres://h1:1,h1:1/db?target_session_attrs=read-write&application_name=x", ["h1:1"], "read-write"],
])("%s names several servers", (text, names, target) => {
  const parsed = parseConnectionUrl(text, "primary");
  expect(parsed.servers.map((server) => server.name)).toEqual(names);
  expect(parsed.target).toBe(target);
  for (const { url } of parsed.servers) expect(url).not.toContain("target_session_attrs");
});

test.each([
  "postgres://u:secret@h1,,h2/db",
  "postgres://u:secret@h1,h2:x/db",
  "postgres://u:secret@h1/db?target_session_attrs=master",
  `postgres://u:secret@${Array.from({ length: 300 }, (_, i) => `h${i}`).join(",")}/db`,
  "postgres://u:secret@/db?host=h1,h2",
])("a list of servers that makes no sense is refused without showing the password (%#)", (text) => {
  let failure: unknown;
  try {
    parseConnectionUrl(text, "primary");
  } catch (error) {
    failure = error;
  }
  expect(CodedError.is(failure, "bad_config")).toBe(true);
  expect(JSON.stringify([failure, (failure as Error).message, (failure as Error).cause])).not.toContain("secret");
});
