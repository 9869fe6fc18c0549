import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { maxStaleness } from "../../../src/rpc/interceptors/max-staleness.ts";
import { metadataList, type ServerCall } from "../../../src/rpc/server-call.ts";

const key = "gitaly-consistency";

function metadataOf(name: string, ...values: string[]): Metadata {
  const metadata = new Metadata();
  for (const value of values) metadata.add(name, value);
  return metadata;
}

async function stalenessOf(...values: string[]): Promise<number | undefined> {
  const call = { metadata: metadataOf("gitaly-max-staleness", ...values), maxStalenessMs: undefined } as unknown as ServerCall;
  let seen: number | undefined = -1;
  await maxStaleness()(call, async () => {
    seen = call.maxStalenessMs;
  });
  return seen;
}

test.each([
  ["5s", 5000],
  ["1m30s", 90_000],
  ["0", 0],
  ["24h", 86_400_000],
])("an answer may be %s old: %i ms", async (text, ms) => {
  expect(await stalenessOf(text)).toBe(ms);
});

test("without the key nothing is allowed", async () => {
  expect(await stalenessOf()).toBeUndefined();
});

test.each(["", "5", "soon", "-5s", "25h", "1e3s", "5s,6s", "NaN", "9".repeat(200)])("the staleness %j is refused", async (text) => {
  await expect(stalenessOf(text)).rejects.toMatchObject({ code: "invalid_argument", fields: { value: text.slice(0, 40) } });
});

test("values of a key are a list, however they are sent; an empty one is there, and says nothing", () => {
  expect(metadataList(metadataOf(key, "a, b", "", "c,,"), key)).toEqual(["a", "b", "c"]);
  expect(metadataList(metadataOf(key, ""), key)).toEqual([]);
  expect(metadataList(metadataOf("x", "a"), key)).toBeUndefined();
});
