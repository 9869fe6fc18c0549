import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../src/base/index.ts";
import { createGit, type Git } from "../../src/git/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { GitHttpFront } from "../support/git-http-front.ts";
import { TempRepo } from "../support/temp-repo.ts";

const start = (): Promise<Git> => createGit({}, { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics });

test("a push to an empty repository can be cloned", async () => {
  await using git = await start();
  await using fixture = await GitFixture.create();
  await using front = await GitHttpFront.start(git, fixture);
  await using work = await TempRepo.create();
  const oid = await work.commit("a.txt", "one\n");
  const pushed = await work.tryGit("push", front.url, "main");
  expect(pushed).toMatchObject({ code: 0 });
  expect(front.errors).toEqual([]);
  expect(fixture.refs.get("refs/heads/main")?.oid).toBe(oid);
});
