import { expect, test } from "vitest";
import type { CatalogToken } from "../../../src/catalog/index.ts";
import { createRepository } from "../../../src/services/repository/create-repository.ts";
import { repositoryMessage, ServicesFixture } from "../../support/services-fixture.ts";
import { SimClock } from "../../support/sim-clock.ts";

/** A create by a caller that brought `consistency` along; what the catalog was asked, and the trailers. */
function scene(consistency: readonly string[] | undefined, { opens = true, settles = true } = {}) {
  const clock = new SimClock();
  const fixture = new ServicesFixture();
  fixture.clock = clock;
  const asked: unknown[] = [];
  const token = { token: "signed" } as CatalogToken;
  fixture.catalog = {
    openToken: (given) => {
      asked.push(given);
      return opens ? token : undefined;
    },
    settle: async (path, into, signal) => {
      asked.push(path, into === token);
      if (!settles) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  const trailers: Record<string, string> = {};
  const call = {
    ...fixture.call(),
    consistency,
    setTrailer: (key: string, value: string) => void Object.assign(trailers, { [key]: value }),
  };
  const request = { repository: repositoryMessage("a.git"), defaultBranch: Buffer.alloc(0), objectFormat: "OBJECT_FORMAT_SHA1" as const };
  return { clock, asked, trailers, fixture, run: () => createRepository(fixture.deps)(request, call) };
}

test("who takes part is answered with a token that covers its write", async () => {
  const { asked, trailers, run } = scene(["one", "two"]);
  await run();
  expect(asked).toEqual([["one", "two"], "a.git", true]);
  expect(trailers).toEqual({ "gitaly-consistency": "signed" });
});

test("who does not take part waits for nothing, and neither does anyone where no tokens are made", async () => {
  const aside = scene(undefined);
  await aside.run();
  expect([aside.asked, aside.trailers]).toEqual([[], {}]);
  const none = scene([], { opens: false });
  await none.run();
  expect([none.asked, none.trailers]).toEqual([[[]], {}]);
});

test("an index that does not take the change holds the answer for half a second, and no longer", async () => {
  const { clock, trailers, run, fixture } = scene([], { settles: false });
  let done = false;
  const running = run().then(() => {
    done = true;
  });
  await clock.advance(499);
  expect([done, fixture.recorded.length]).toEqual([false, 1]);
  await clock.advance(1);
  await running;
  expect(trailers).toEqual({ "gitaly-consistency": "signed" });
});
