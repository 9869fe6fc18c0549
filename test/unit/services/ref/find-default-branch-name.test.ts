import { expect, test } from "vitest";
import { findDefaultBranchName } from "../../../../src/services/ref/find-default-branch-name.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const oid = "1".repeat(40);

async function ask(refs: string[], head: string, headOnly = false): Promise<string> {
  const fixture = new ServicesFixture();
  fixture.add("a.git", Object.fromEntries(refs.map((name) => [name, oid])), { head });
  const answer = await findDefaultBranchName(fixture.deps)({ repository: repositoryMessage("a.git"), headOnly }, fixture.call());
  expect(fixture.openLeases).toBe(0);
  return Buffer.from(answer.name as Buffer).toString("latin1");
}

test("HEAD's branch is the default where it exists", async () => {
  expect(await ask(["refs/heads/main", "refs/heads/\xdcber"], "refs/heads/\xdcber")).toBe("refs/heads/\xdcber");
});

test("without it main comes first, then master, then the first branch", async () => {
  expect(await ask(["refs/heads/a", "refs/heads/main", "refs/heads/master"], "refs/heads/gone")).toBe("refs/heads/main");
  expect(await ask(["refs/heads/a", "refs/heads/master"], "refs/heads/gone")).toBe("refs/heads/master");
  expect(await ask(["refs/heads/v1.0", "refs/tags/a"], "refs/heads/missing")).toBe("refs/heads/v1.0");
  expect(await ask(["refs/tags/a"], "refs/heads/missing")).toBe("");
});

// B97
test("head_only gives what HEAD names, born or not", async () => {
  expect(await ask(["refs/heads/v1.0"], "refs/heads/missing", true)).toBe("refs/heads/missing");
});
