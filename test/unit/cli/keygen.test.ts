import { expect, test } from "vitest";
import { runFakeCli } from "../../support/fake-cli.ts";
import { simRandom } from "../../support/sim-random.ts";

test.each([
  ["keygen", 32],
  ["keygen --bytes 16", 16],
  ["keygen --bytes 24", 24],
  ["keygen --bytes 32", 32],
])("%s prints a base64 key of %d bytes and nothing else", async (command, sizeBytes) => {
  const { code, stdout, stderr } = await runFakeCli(command, { deps: { random: simRandom(7) } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(`${Buffer.from(simRandom(7).bytes(sizeBytes)).toString("base64")}\n`);
});

test("two keys differ", async () => {
  const [one, other] = [await runFakeCli("keygen"), await runFakeCli("keygen")];
  expect(one.stdout).not.toBe(other.stdout);
});

test("keygen refuses a length that AES does not have", async () => {
  const { code, stdout, stderr } = await runFakeCli("keygen --bytes 20");
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain("Allowed choices are 16, 24, 32");
});
