import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../src/base/index.ts";
import { createGit, type Git } from "../../src/git/index.ts";
import { noMetrics, silentLogger } from "../../src/observability/index.ts";
import { GitFixture } from "../support/git-fixture.ts";
import { GitHttpFront } from "../support/git-http-front.ts";
import { TempRepo } from "../support/temp-repo.ts";

const start = (): Promise<Git> => createGit({}, { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics });

test.each([0, 1, 2])("stock git clones, fetches and lists with protocol version %d", async (version) => {
  await using git = await start();
  await using fixture = await GitFixture.create();
  await using source = await TempRepo.create();
  const first = await source.commit("a.txt", "one\n");
  await source.git("tag", "-m", "release", "v1");
  await fixture.takeFrom(source);
  await using front = await GitHttpFront.start(git, fixture);
  await using client = await TempRepo.create({ init: false });
  await client.git("-c", `protocol.version=${version}`, "clone", "-q", front.url, ".");
  expect(await client.git("rev-parse", "HEAD")).toBe(first);
  const listed = await client.git("-c", `protocol.version=${version}`, "ls-remote", "--symref", "origin");
  expect(listed.split("\n")).toEqual([
    "ref: refs/heads/main\tHEAD",
    `${first}\tHEAD`,
    `${first}\trefs/heads/main`,
    `${await source.git("rev-parse", "v1")}\trefs/tags/v1`,
    `${first}\trefs/tags/v1^{}`,
  ]);
  const second = await source.commit("a.txt", "two\n");
  await fixture.takeFrom(source);
  await client.git("-c", `protocol.version=${version}`, "fetch", "-q");
  expect(await client.git("rev-parse", "origin/main")).toBe(second);
  expect(front.errors).toEqual([]);
});
