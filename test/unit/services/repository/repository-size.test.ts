import { expect, test } from "vitest";
import { repositorySize } from "../../../../src/services/repository/repository-size.ts";
import { repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const artifact = (sizeBytes: number) => ({ name: "x", sizeBytes });

test("the size is that of everything the newest generation names, in KiB rounded up", async () => {
  const fixture = new ServicesFixture();
  fixture.add(
    "a.git",
    {},
    {
      inlineRefTable: new Uint8Array(1),
      refTables: [artifact(1024)],
      packs: [
        { pack: artifact(10_240), index: artifact(1024), objectCount: 1 },
        { pack: artifact(1024), index: artifact(1024), reverseIndex: artifact(1024), bitmap: artifact(1024), objectCount: 1 },
      ],
    },
  );
  const size = (path: string) => repositorySize(fixture.deps)({ repository: repositoryMessage(path) }, fixture.call());
  expect(await size("a.git")).toEqual({ size: "17" });
  await expect(size("b.git")).rejects.toMatchObject({ code: "repository_not_found", message: "repository not found" });
});
