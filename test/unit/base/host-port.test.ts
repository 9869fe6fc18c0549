import { expect, test } from "vitest";
import { hostPort, splitHostPort } from "../../../src/base/index.ts";

test.each([
  ["db1:5432", { host: "db1", port: 5432 }],
  ["10.0.0.1:1", { host: "10.0.0.1", port: 1 }],
  ["[fd00::1]:65535", { host: "fd00::1", port: 65_535 }],
])("%s is taken apart, and put together again", (text, parts) => {
  expect(splitHostPort(text)).toEqual(parts);
  expect(hostPort(parts.host, parts.port)).toBe(text);
});

test.each(["", "db1", "db1:", ":1", "fd00::1:5432", "[fd00::1]", "db1:123456", "db1:1x"])("%o is not HOST:PORT", (text) => {
  expect(splitHostPort(text)).toBeUndefined();
});
