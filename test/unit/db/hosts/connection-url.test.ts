import { expect, test } from "vitest";
import { CodedError } from "../../../../src/base/index.ts";
import { parseServerAddress } from "../../../../src/db/hosts/connection-url.ts";

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
