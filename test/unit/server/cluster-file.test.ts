import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clusterFactsOf, readClusterFile, writeClusterFile } from "../../../src/server/cluster-file.ts";
import { tempDir } from "../../support/temp-dir.ts";

const facts = {
  clusterId: "00112233445566778899aabbccddeeff",
  objectStorageUrl: "file:///store",
  objectStorageEmbedded: true,
  databaseDirectory: "/data",
  databaseUrls: ["postgres://db/app"],
  replicas: 2,
  hashSeed: "7",
};

test("what a member answers is kept as it is, without what does not belong to the cluster", async () => {
  await using dir = await tempDir();
  expect(readClusterFile(dir.path)).toBeUndefined();
  const answer = { ...facts, node: "founder", gossipAddresses: ["127.0.0.1:1"] };
  writeClusterFile(dir.path, clusterFactsOf(answer));
  expect(readClusterFile(dir.path)).toEqual(facts);
});

test.each([
  ["clusterId", ""],
  ["clusterId", "../../etc"],
  ["objectStorageUrl", "s3://bucket"],
  ["objectStorageUrl", "file://elsewhere/store"],
  ["objectStorageUrl", "nonsense"],
  ["databaseUrls", ["nonsense"]],
  ["replicas", 0],
  ["hashSeed", "-1"],
  ["hashSeed", "x"],
])("an answer whose %s is %j is refused, and ends neither a start nor a process", (key, value) => {
  expect(() => clusterFactsOf({ ...facts, [key]: value })).toThrowError(
    expect.objectContaining({ code: "protocol_error", fields: { wrong: key === "databaseUrls" ? "databaseUrls.0" : key } }),
  );
});

test("a damaged file is told of, with its name", async () => {
  await using dir = await tempDir();
  writeFileSync(join(dir.path, "cluster.json"), "{");
  expect(() => readClusterFile(dir.path)).toThrowError(
    expect.objectContaining({ code: "bad_config", fields: { file: join(dir.path, "cluster.json") } }),
  );
});
