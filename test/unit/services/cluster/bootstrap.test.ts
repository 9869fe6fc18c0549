import { expect, test } from "vitest";
import { bootstrap } from "../../../../src/services/cluster/bootstrap.ts";
import { ServicesFixture } from "../../../support/services-fixture.ts";

test("a node without a store says that it has none, one with a store hands it over", async () => {
  const { deps, call } = { deps: new ServicesFixture().deps, call: new ServicesFixture().call() };
  let response: { clusterId: string } | undefined;
  const ask = () => bootstrap({ ...deps, bootstrap: () => response })({ node: "n9" }, call);
  await expect(ask()).rejects.toMatchObject({ code: "node_unavailable", retryAfterMs: 1000 });
  response = { clusterId: "c1" };
  expect(await ask()).toEqual({ clusterId: "c1" });
});
