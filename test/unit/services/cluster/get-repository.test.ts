import { expect, test } from "vitest";
import { getRepository } from "../../../../src/services/cluster/get-repository.ts";
import { fakeMember, fakeView, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

test("a repository is described from its newest generation, with or without a catalog", async () => {
  const fixture = new ServicesFixture();
  fixture.catalogHealth = { ok: false, message: "down" };
  fixture.add(
    "a.git",
    { "refs/heads/x": "1".repeat(40) },
    { n: 9, head: "refs/heads/x", inlineRefTable: new Uint8Array(10), settings: { replicas: 2, placement: "" } },
  );
  const get = (path: string) => getRepository(fixture.deps)({ repository: repositoryMessage(path) }, fixture.call());
  expect((await get("a.git")).repository).toMatchObject({
    relativePath: "a.git",
    id: "id-of-a.git",
    generation: "9",
    defaultBranch: Buffer.from("x"),
    refs: "1",
    sizeBytes: "10",
    replicas: 2,
  });
  await expect(get("b.git")).rejects.toMatchObject({ code: "repository_not_found" });
  expect(fixture.openLeases).toBe(0);
});

test.each([
  [0, 3],
  [2, 2],
])("replicas is the k in effect: %i of its own in a cluster of 3 answers %i", async (own, answered) => {
  const fixture = new ServicesFixture();
  fixture.setView(fakeView([fakeMember("n1")], 3));
  fixture.add("a.git", {}, { settings: { replicas: own, placement: "" } });
  const { repository } = await getRepository(fixture.deps)({ repository: repositoryMessage("a.git") }, fixture.call());
  expect(repository?.replicas).toBe(answered);
});
