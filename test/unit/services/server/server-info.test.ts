import { expect, test } from "vitest";
import { serverInfo } from "../../../../src/services/server/server-info.ts";
import { fakeMember, fakeView, ServicesFixture } from "../../../support/services-fixture.ts";

test("ServerInfo tells the versions and the one storage", async () => {
  const fixture = new ServicesFixture();
  fixture.setView(fakeView([fakeMember("n1"), fakeMember("n2")], 2));
  expect(await serverInfo(fixture.deps)()).toEqual({
    serverVersion: "1.2.3",
    gitVersion: "2.45.0",
    storageStatuses: [
      {
        storageName: "default",
        readable: true,
        writeable: true,
        fsType: "object-storage",
        filesystemId: "cluster-1",
        replicationFactor: 2,
      },
    ],
  });
});

test.each([
  ["unproven", false, false],
  ["read_only", true, false],
  ["broken", false, false],
] as const)("a store that is %s is readable: %s, writeable: %s", async (state, readable, writeable) => {
  const fixture = new ServicesFixture();
  fixture.storeHealth = { state, message: "because" };
  const { storageStatuses } = await serverInfo(fixture.deps)();
  expect(storageStatuses?.[0]).toMatchObject({ readable, writeable });
});
