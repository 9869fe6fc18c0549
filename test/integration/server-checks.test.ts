import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { runChecks } from "../../src/server/index.ts";
import { configInput } from "../support/config-input.ts";
import { tempDir } from "../support/temp-dir.ts";

async function checksOf(flags: Readonly<Record<string, string | readonly string[]>>) {
  const results = [];
  for await (const result of runChecks(loadConfig(configInput({ flags })))) results.push(result);
  return results;
}

test("git, the store and the database are looked at once each", async () => {
  await using dir = await tempDir();
  const url = pathToFileURL(dir.path).href;
  expect(await checksOf({ "object-storage": url })).toEqual([
    { name: "git", ok: true, message: expect.stringMatching(/^version \d/) },
    { name: "object_storage", ok: true, message: `${url} creates only once, reads what was written and lists in order` },
    { name: "database", ok: true, message: "embedded" },
  ]);
});

test("a database that cannot be reached is named with the reason, without its user", async () => {
  await using dir = await tempDir();
  const [, , database] = await checksOf({ "data-dir": dir.path, database: ["postgres://someone@127.0.0.1:1/none"] });
  expect(database).toEqual({
    name: "database",
    ok: false,
    message: "postgres://127.0.0.1:1/none: cannot connect to the database server: connect ECONNREFUSED 127.0.0.1:1",
  });
});
