import { expect, test } from "vitest";
import { repositoryExists } from "../../../../src/services/repository/repository-exists.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

test("a repository exists from its creation to its removal", async () => {
  const fixture = new ServicesFixture();
  const exists = () => repositoryExists(fixture.deps)({ repository: repositoryMessage("a.git") }, fixture.call());
  expect(await exists()).toEqual({ exists: false });
  fixture.add("a.git");
  expect(await exists()).toEqual({ exists: true });
  fixture.repositories.delete("a.git");
  expect(await exists()).toEqual({ exists: false });
});

test("another storage, or none, is the caller's mistake", async () => {
  const fixture = new ServicesFixture();
  const ask = (repository: ReturnType<typeof repositoryMessage> | null) => repositoryExists(fixture.deps)({ repository }, fixture.call());
  await expect(ask(null)).rejects.toMatchObject({ code: "invalid_argument", message: "repository not set" });
  await expect(ask(repositoryMessage("a", ""))).rejects.toMatchObject({ code: "invalid_argument", message: "storage name not set" });
  await expect(ask(repositoryMessage("a", "other"))).rejects.toMatchObject({ code: "invalid_argument", message: "storage name not found" });
});
