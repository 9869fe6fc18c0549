import { expect, test } from "vitest";
import { status } from "../../../../src/services/cluster/status.ts";
import { fakeMember, fakeView, ServicesFixture } from "../../../support/services-fixture.ts";

test("a node tells who and how it is", async () => {
  const fixture = new ServicesFixture();
  fixture.clock = { ...fixture.clock, monotonic: () => 1_000_000 };
  fixture.setView(fakeView([fakeMember("n1"), fakeMember("n2", { status: "failed" })]));
  fixture.nodeState = { state: "ready", checks: [{ name: "gossip", ok: true, message: "" }] };
  expect(await status(fixture.deps)()).toEqual({
    node: "n1",
    clusterId: "cluster-1",
    state: "ready",
    version: "1.2.3",
    gitVersion: "2.45.0",
    uptimeSeconds: "90",
    ringFingerprint: fixture.deps.view().ring.fingerprint,
    memberCount: 2,
    siteCount: 1,
    checks: [
      { name: "object_storage", ok: true, message: "" },
      { name: "database", ok: true, message: "" },
      { name: "gossip", ok: true, message: "" },
    ],
    objectStorage: "file:///objects",
    database: "postgres://db",
    cacheBytes: "4096",
  });
});

test("what fails is said, and the node's own check of a thing counts", async () => {
  const fixture = new ServicesFixture();
  fixture.storeHealth = { state: "read_only", message: "conditional PUT is ignored" };
  fixture.catalogHealth = { ok: false, message: "no primary" };
  fixture.nodeState = { state: "warming", checks: [{ name: "database", ok: false, message: "see database.url" }] };
  const { checks, state } = await status(fixture.deps)();
  expect(state).toBe("warming");
  expect(checks).toEqual([
    { name: "object_storage", ok: false, message: "conditional PUT is ignored" },
    { name: "database", ok: false, message: "see database.url" },
  ]);
});

test("a store that was proven and has stopped answering is not said to be well", async () => {
  const fixture = new ServicesFixture();
  fixture.storeHealth = { state: "proven", message: "", trouble: "the object store's directory is gone" };
  const { checks } = await status(fixture.deps)();
  expect(checks).toContainEqual({ name: "object_storage", ok: false, message: "the object store's directory is gone" });
});

test("a list of the database's servers that is too old is said, with its age", async () => {
  const fixture = new ServicesFixture();
  const view = { status: [], discoveryAgeMs: 12.5 * 60_000, discoveryStale: true };
  const checksOf = async (given: typeof view) => (await status({ ...fixture.deps, database: () => given })()).checks;
  expect(await checksOf(view)).toContainEqual({
    name: "database_discovery",
    ok: false,
    message: "the database's servers have not been looked up for 12 minutes; the last known list is used",
  });
  expect(await checksOf({ ...view, discoveryStale: false })).toContainEqual({ name: "database_discovery", ok: true, message: "" });
});
