import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeReadyFile } from "../../../src/server/ready-file.ts";

const facts = { node: "n1:8075", grpc: "127.0.0.1:8075", http: "127.0.0.1:8076", gossip: "127.0.0.1:7946" };

test("the ready file holds the node's name, process and addresses; one that cannot be written is named", () => {
  const root = mkdtempSync(join(tmpdir(), "ready-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeReadyFile(join(root, "ready"), facts);
  expect(JSON.parse(readFileSync(join(root, "ready"), "utf8"))).toEqual({ ...facts, pid: process.pid });
  const file = join(root, "none", "ready");
  expect(() => writeReadyFile(file, facts)).toThrowError(
    expect.objectContaining({
      code: "failed_precondition",
      message: "the ready file cannot be written",
      fields: { file, errno: "ENOENT" },
    }),
  );
});
