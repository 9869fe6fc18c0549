import { expect, test } from "vitest";
import { ringKey } from "../../../../src/routing/index.ts";
import { route } from "../../../../src/services/cluster/route.ts";
import { fakeMember, fakeView, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const members = ["n1", "n2", "n3", "n4"].map((name) => fakeMember(name, { zone: `zone-${name}` }));

test("the owners come in the ring's order with what their scores come from", async () => {
  const fixture = new ServicesFixture();
  const view = fakeView(members, 2);
  fixture.setView(view);
  const answer = await route(fixture.deps)({ repository: repositoryMessage("g/a.git") });
  const owners = view.ring.owners(ringKey("default", "g/a.git")).map(({ name }) => name);
  expect(answer.owners?.map(({ name }) => name)).toEqual(owners);
  expect(answer).toMatchObject({
    replicas: 2,
    ringFingerprint: view.ring.fingerprint,
    repositoryHash: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  const [first, second] = answer.owners ?? [];
  expect(first).toMatchObject({ grpcAddress: `${owners[0]}:8075`, zone: `zone-${owners[0]}`, weight: 1 });
  expect(first?.siteHash).toMatch(/^[0-9a-f]{16}$/);
  expect(Number(first?.cost)).toBeLessThan(Number(second?.cost));
});

test("a repository with its own number of replicas has that many owners", async () => {
  const fixture = new ServicesFixture();
  fixture.setView(fakeView(members));
  fixture.catalog = { replicasOf: (path) => (path === "hot.git" ? 3 : undefined) };
  const answer = await route(fixture.deps)({ repository: repositoryMessage("hot.git") });
  expect(answer.owners).toHaveLength(3);
  expect(answer.replicas).toBe(3);
});

test("a path that no repository can have is refused", async () => {
  const fixture = new ServicesFixture();
  await expect(route(fixture.deps)({ repository: repositoryMessage("a/../b") })).rejects.toMatchObject({ code: "invalid_path" });
});
