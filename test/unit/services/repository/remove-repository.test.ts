import { expect, test } from "vitest";
import { removeRepository } from "../../../../src/services/repository/remove-repository.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

test("removing works once, and the catalog hears of the generation that removed", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git", {}, { n: 7, repoId: "id7" });
  const remove = () => removeRepository(fixture.deps)({ repository: repositoryMessage("a.git") }, fixture.call());
  expect(await remove()).toEqual({});
  expect(fixture.removed).toEqual([{ path: "a.git", repoId: "id7", generation: 8 }]);
  await expect(remove()).rejects.toMatchObject({ code: "repository_not_found" });
  expect(fixture.removed).toHaveLength(1);
});
