import { expect, test } from "vitest";
import { checkVersions } from "../../../src/gossip/versions.ts";

type Versions = readonly [min: number, max: number, current: number];

// TestVerifyProtocol
test.each<[string, readonly Versions[], readonly Versions[], boolean]>([
  ["all the same", [[1, 1, 1]], [[1, 1, 1]], true],
  ["one side understands more", [[1, 1, 1]], [[1, 2, 1]], true],
  ["one side speaks what the other does not understand", [[1, 1, 1]], [[2, 2, 2]], false],
  [
    "a third node does not understand what the two sides would agree on",
    [
      [1, 2, 1],
      [1, 3, 2],
    ],
    [[2, 4, 2]],
    false,
  ],
  [
    "four nodes of which each understands what each speaks",
    [
      [1, 4, 3],
      [1, 3, 1],
    ],
    [
      [1, 3, 2],
      [1, 5, 1],
    ],
    true,
  ],
])("two views go together or not where %s, in their protocol as in the application's", (_what, local, remote, expected) => {
  const common: Versions = [1, 5, 2];
  const node = (protocol: Versions, application: Versions) => ({
    name: "n",
    state: "alive",
    versions: Uint8Array.of(...protocol, ...application),
  });
  const goTogether = (place: (versions: Versions) => ReturnType<typeof node>) => {
    try {
      checkVersions(remote.map(place), local.map(place));
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: "cluster_mismatch" });
      return false;
    }
  };
  expect([goTogether((versions) => node(versions, common)), goTogether((versions) => node(common, versions))]).toEqual([
    expected,
    expected,
  ]);
});
