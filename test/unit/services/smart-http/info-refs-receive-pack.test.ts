import { expect, test } from "vitest";
import { infoRefsReceivePack } from "../../../../src/services/smart-http/info-refs-receive-pack.ts";
import { collect, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const request = { repository: repositoryMessage("a.git"), gitProtocol: "version=2", gitConfigOptions: [] };

test("the advertisement is that of receive-pack", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  fixture.git = { advertise: (_view, service) => [Buffer.from(service)] };
  const messages = await collect(infoRefsReceivePack(fixture.deps)(request, fixture.call()));
  expect(messages.map(({ data }) => String(data))).toEqual(["git-receive-pack"]);
  expect(fixture.openLeases).toBe(0);
});

test("a store that takes no writes refuses a push at its first request", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  fixture.storeHealth = { state: "read_only", message: "ignores If-None-Match" };
  await expect(collect(infoRefsReceivePack(fixture.deps)(request, fixture.call()))).rejects.toMatchObject({ code: "store_refuses_writes" });
});
