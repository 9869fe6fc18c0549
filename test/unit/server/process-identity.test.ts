import { afterEach, expect, test, vi } from "vitest";
import { identify, isRunning } from "../../../src/server/process-identity.ts";

afterEach(() => void vi.restoreAllMocks());

test.each([
  ["this user's process", undefined],
  ["another user's process", "EPERM"],
])("%s counts as the noted one only if it started when that did", (_whose, code) => {
  vi.spyOn(process, "kill").mockImplementation(() => {
    if (code !== undefined) throw Object.assign(new Error(code), { code });
    return true;
  });
  const self = identify(process.pid);
  expect(isRunning(self)).toBe(true);
  expect(isRunning({ ...self, startTime: "1" })).toBe(self.startTime === "");
});

test("a process that is gone does not run", () => {
  vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("ESRCH"), { code: "ESRCH" });
  });
  expect(isRunning(identify(process.pid))).toBe(false);
});
