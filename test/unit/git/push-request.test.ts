import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { RepositoryView } from "../../../src/git/index.ts";
import { encodePkt, PktReader } from "../../../src/git/pkt-line.ts";
import { planPush, spreadRefusals } from "../../../src/git/push-plan.ts";
import { pushReport } from "../../../src/git/push-report.ts";
import { type PushRequest, readPushRequest } from "../../../src/git/push-request.ts";
import { refViewOf } from "../../support/git-fixture.ts";

const zero = "0".repeat(40);
const one = "1".repeat(40);
const two = "2".repeat(40);

async function read(...parts: string[]): Promise<PushRequest | undefined> {
  const body = Buffer.concat(parts.map((part) => (/^000[012]$/.test(part) ? Buffer.from(part) : encodePkt(part))));
  return await readPushRequest(
    new PktReader(
      { maxBytes: 1 << 24 },
      (async function* () {
        yield body;
      })(),
    ),
    "sha1",
  );
}

test("commands, capabilities, shallow lines and options are told apart", async () => {
  const request = await read(
    `shallow ${two}\n`,
    `${zero} ${one} refs/heads/a\0 report-status push-options object-format=sha1 agent=git/2\n`,
    `${one} ${zero} refs/heads/b\n`,
    "0000",
    "ci.skip",
    "0000",
  );
  expect(request?.changes).toEqual([
    { ref: "refs/heads/a", oldOid: zero, newOid: one },
    { ref: "refs/heads/b", oldOid: one, newOid: zero },
  ]);
  expect(request?.shallowOids).toEqual([two]);
  expect(request?.pushOptions).toEqual(["ci.skip"]);
  expect(request?.objectFormat).toBe("sha1");
  expect(request?.capabilities.has("report-status")).toBe(true);
});

test("a lone flush, and nothing at all, ask whether one may push", async () => {
  expect(await read("0000")).toBeUndefined();
  expect(await read()).toBeUndefined();
});

test.each([
  ["push-cert", "push-cert\0caps"],
  ["upper case", `${zero} ${"A".repeat(40)} refs/heads/a`],
  ["ids of two lengths", `${zero} ${"1".repeat(64)} refs/heads/a`],
  ["no name", `${zero} ${one} `],
])("a command with %s is no command", async (_what, line) => {
  await expect(read(line, "0000")).rejects.toMatchObject({ code: "protocol_error" });
});

test("too many commands are refused before they are held", async () => {
  const lines = Array.from({ length: 100_001 }, (_, i) => `${zero} ${one} refs/heads/${i}`);
  await expect(read(...lines, "0000")).rejects.toMatchObject({ code: "limit_exceeded" });
});

function request(...changes: [string, string, string][]): PushRequest {
  return {
    changes: changes.map(([oldOid, newOid, ref]) => ({ oldOid, newOid, ref })),
    capabilities: new Set(["report-status"]),
    objectFormat: "sha1",
    shallowOids: [],
    pushOptions: [],
  };
}

const view: RepositoryView = {
  objectFormat: "sha1",
  head: "refs/heads/main",
  refs: refViewOf([{ name: "refs/heads/main", oid: one }]),
  snapshot: () => Promise.reject(new Error("not needed")),
};

test("what can be refused without objects is refused, and with atomic so is the rest", () => {
  const changes = planPush(
    view,
    request([zero, one, "refs/heads/ok"], [one, zero, "refs/heads/main"], [zero, one, "refs/x"], [one, zero, "refs/heads/absent"]),
  );
  expect(changes.map((change) => change.refusal)).toEqual([
    undefined,
    "deletion of the current branch prohibited",
    "funny refname",
    undefined,
  ]);
  expect(changes.map((change) => change.isNoop)).toEqual([false, false, false, true]);
  spreadRefusals(changes, false);
  expect(changes[0]?.refusal).toBeUndefined();
  spreadRefusals(changes, true);
  expect(changes[0]?.refusal).toBe("atomic push failure");
});

test("a report stands bare, in band 1, or not at all, as the client can read it", () => {
  const outcome = {
    unpackError: undefined,
    refs: [
      { ref: "refs/heads/a", reason: undefined },
      { ref: "refs/heads/b", reason: "no\nway" },
    ],
  };
  const text = (capabilities: string[]) =>
    Buffer.concat([...pushReport({ ...request(), capabilities: new Set(capabilities) }, outcome)]).toString("latin1");
  const report = "000eunpack ok\n0014ok refs/heads/a\n001bng refs/heads/b no way\n0000";
  expect(text(["report-status"])).toBe(report);
  expect(text(["report-status-v2", "side-band-64k"])).toBe(`${(report.length + 5).toString(16).padStart(4, "0")}\x01${report}0000`);
  expect(text(["side-band-64k"])).toBe("0000");
  expect(text([])).toBe("");
});

test("whatever a client says, each line of the report fits into a packet", async () => {
  const format = `object-format=${"x".repeat(60_000)}`;
  const asked = await read(`${zero} ${one} refs/heads/a\0report-status ${format}`, "0000");
  const refs = [{ ref: `refs/heads/${"x".repeat(8000)}`, reason: "y".repeat(60_000) }];
  const outcome = { unpackError: `object format ${asked?.objectFormat} does not fit\nhere`, refs };
  const report = Buffer.concat([...pushReport({ ...request(), capabilities: new Set(["report-status"]) }, outcome)]);
  const reader = new PktReader({ maxBytes: 1 << 20 }, Readable.from([report]));
  const lines: string[] = [];
  for (let pkt = await reader.next(); pkt?.type === "data"; pkt = await reader.next()) lines.push(pkt.payload.toString());
  expect(lines).toHaveLength(2);
  expect(lines[0]?.slice(0, -1)).not.toContain("\n");
  await expect(read(`${zero} ${one} refs/heads/${"x".repeat(8192)}\0report-status`, "0000")).rejects.toMatchObject({
    code: "protocol_error",
  });
});
