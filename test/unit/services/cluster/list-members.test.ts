import { expect, test } from "vitest";
import { listMembers } from "../../../../src/services/cluster/list-members.ts";
import { fakeMember, fakeView, ServicesFixture } from "../../../support/services-fixture.ts";

test("every member is listed with its status, sites or not", async () => {
  const fixture = new ServicesFixture();
  const view = fakeView([
    fakeMember("n1"),
    fakeMember("n2", { status: "failed", zone: "z", grpcTls: true }),
    fakeMember("n3", { status: "left" }),
  ]);
  fixture.setView(view);
  const answer = await listMembers(fixture.deps)();
  expect(answer).toEqual({ members: view.members, ringFingerprint: view.ring.fingerprint });
});
