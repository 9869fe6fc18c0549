import { expect, test } from "vitest";
import { neverAborted } from "../../../src/base/index.ts";
import type { Catalog, CatalogEntry } from "../../../src/catalog/index.ts";
import { createMetrics, silentLogger } from "../../../src/observability/index.ts";
import { LateCatalog } from "../../../src/server/late-catalog.ts";
import { withoutUserInfo } from "../../../src/server/open-database.ts";
import { failureOf } from "../../support/failure-of.ts";

const entry = (path: string) => ({ path }) as CatalogEntry;

test("what was noted before there is a database reaches it, in order; what is too much is counted", async () => {
  const metrics = createMetrics();
  const late = new LateCatalog({ metrics, logger: silentLogger });
  expect(await failureOf(late.find("a", neverAborted))).toMatchObject({ code: "database_unavailable" });
  for (let i = 0; i < 10_003; i++) late.record(entry(String(i)));
  late.recordRemoved("gone", "id", 2);
  expect(await metrics.expose()).toContain('gitaly_cluster_catalog_changes_total{result="dropped"} 4');
  const noted: string[] = [];
  late.set({ health: { ok: true, message: "" }, record: ({ path }) => void noted.push(path) } as Catalog);
  late.record(entry("later"));
  expect([noted.length, noted[0], noted.at(-1)]).toEqual([10_001, "0", "later"]);
});

test("a database that does not answer is told of with the key that names it", () => {
  const late = new LateCatalog({ metrics: createMetrics(), logger: silentLogger });
  late.set({ health: { ok: false, message: "password authentication failed" } } as Catalog);
  expect(late.health).toEqual({ ok: false, message: "password authentication failed; see database.url" });
});

test.each([
  ["postgres://u:p@db:5432/app?sslmode=require", "postgres://db:5432/app?sslmode=require"],
  ["postgres://db/app?user=u&password=p&sslpassword=q&application_name=x", "postgres://db/app?application_name=x"],
  ["no url with p", "(not a url)"],
  ["postgres:u:p@db/app", "(not a url)"],
])("%s is shown and handed over as %s", (url, shown) => {
  expect(withoutUserInfo(url)).toBe(shown);
});
