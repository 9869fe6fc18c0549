import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClientReadableStream, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import type { ListRefsResponse__Output } from "../../src/proto/gen/gitaly/ListRefsResponse.ts";
import type { ProtoGrpcType as RefProto } from "../../src/proto/gen/ref.ts";
import type { ProtoGrpcType as SmartHttpProto } from "../../src/proto/gen/smarthttp.ts";
import { grpcObject, messageCodec } from "../../src/proto/index.ts";
import { createServices } from "../../src/services/index.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { startServicesNode } from "../support/services-node.ts";

const proto = grpcObject as unknown as RefProto & SmartHttpProto;
const repository = { storageName: "default", relativePath: "group/app.git" };
const path = repository.relativePath;
const zero = "0".repeat(40);
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "services-grpc-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function startNode() {
  const node = await startServicesNode(dir);
  await node.storage.create(path, { objectFormat: "sha1", head: "refs/heads/main" }, neverAborted);
  const nodes = await startRpcNodes(1, () => createServices(node.deps));
  const address = nodes.nodes[0]?.address ?? "";
  return {
    node,
    refs: new proto.gitaly.RefService(address, credentials.createInsecure()),
    smartHttp: new proto.gitaly.SmartHTTPService(address, credentials.createInsecure()),
    async [Symbol.asyncDispose]() {
      this.refs.close();
      this.smartHttp.close();
      await nodes[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

type Started = Awaited<ReturnType<typeof startNode>>;

/** A commit in a repository of the client, and a pack with it. */
function makeCommit(): { oid: string; pack: Buffer } {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const work = join(dir, "work");
  const git = (args: string[], input?: string) => execFileSync("git", ["-C", work, ...args], { env, input });
  execFileSync("git", ["init", "-q", work], { env });
  const tree = git(["mktree"], "").toString().trim();
  const person = "A <a@x> 1700000000 +0000";
  const oid = git(["hash-object", "-t", "commit", "-w", "--stdin"], `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nfirst\n`)
    .toString()
    .trim();
  return { oid, pack: git(["pack-objects", "--revs", "--stdout", "-q"], `${oid}\n`) };
}

function pkt(text: string): Buffer {
  return Buffer.from(`${(text.length + 4).toString(16).padStart(4, "0")}${text}`, "latin1");
}

function pushBody(updates: readonly string[], pack: Buffer): Buffer {
  const commands = updates.map((update, i) => pkt(i === 0 ? `${update}\0report-status atomic` : update));
  return Buffer.concat([...commands, Buffer.from("0000"), pack]);
}

/** Sends a body in pieces behind a first message, and gives the whole answer. */
async function push({ smartHttp }: Started, body: Buffer, first: object = {}): Promise<string> {
  const call = smartHttp.PostReceivePack();
  call.on("error", () => {});
  call.write({ repository, glId: "user-1", ...first });
  for (let at = 0; at < body.length; at += 100_000) call.write({ data: body.subarray(at, at + 100_000) });
  call.end();
  const answer: Buffer[] = [];
  for await (const { data } of call) answer.push(data);
  return Buffer.concat(answer).toString("latin1");
}

async function messagesOf<T>(call: ClientReadableStream<T>): Promise<T[]> {
  const messages: T[] = [];
  for await (const message of call) messages.push(message as T);
  return messages;
}

const isStatus = (code: status, details: string) => expect.objectContaining<Partial<ServiceError>>({ code, details });

// B83
test("60,000 refs are pushed and listed over gRPC, each message far below the limit of any client", async () => {
  await using started = await startNode();
  const { oid, pack } = makeCommit();
  const names = Array.from({ length: 60_000 }, (_, i) => `refs/heads/a-branch-with-a-name-of-some-length/${String(i).padStart(5, "0")}`);
  const report = await push(
    started,
    pushBody(
      names.map((name) => `${zero} ${oid} ${name}`),
      pack,
    ),
  );
  expect(report.match(/ok refs\//g)).toHaveLength(60_000);
  const messages = await messagesOf<ListRefsResponse__Output>(started.refs.ListRefs({ repository, patterns: [Buffer.from("refs/")] }));
  expect(messages.flatMap(({ references }) => references).map(({ name }) => name.toString())).toEqual(names);
  const codec = messageCodec<object, object>("gitaly.ListRefsResponse");
  for (const message of messages) expect(codec.encode(message).length).toBeLessThanOrEqual(1024 * 1024);
  const advertisement = await messagesOf(started.smartHttp.InfoRefsUploadPack({ repository }));
  expect(
    Buffer.concat(advertisement.map(({ data }) => data))
      .toString()
      .match(/ refs\/heads\//g),
  ).toHaveLength(60_000);
  for (const { data } of advertisement) expect(data.length).toBeLessThanOrEqual(128 * 1024);
});

// B93
test("the same push sent twice succeeds twice and makes one generation", async () => {
  await using started = await startNode();
  const { oid, pack } = makeCommit();
  const body = pushBody([`${zero} ${oid} refs/heads/main`], pack);
  const reports = [await push(started, body), await push(started, body)];
  for (const report of reports) expect(report).toContain("ok refs/heads/main");
  expect((await started.node.storage.newest(path, neverAborted))?.n).toBe(2);
});

// B103
test("a ref that looks like an option is a ref", async () => {
  await using started = await startNode();
  const { oid, pack } = makeCommit();
  const name = "refs/heads/--upload-pack=touch";
  expect(await push(started, pushBody([`${zero} ${oid} ${name}`], pack))).toContain(`ok ${name}`);
  const [message] = await messagesOf<ListRefsResponse__Output>(
    started.refs.ListRefs({ repository, patterns: [Buffer.from("refs/heads/--upload-pack=*")] }),
  );
  expect(message?.references.map((reference) => reference.name.toString())).toEqual([name]);
});

test("mistakes of the caller come back as Gitaly's clients know them", async () => {
  await using started = await startNode();
  const empty = Buffer.from("0000");
  await expect(push(started, empty, { glId: "" })).rejects.toEqual(isStatus(status.INVALID_ARGUMENT, "empty GlId"));
  await expect(push(started, empty, { data: Buffer.from("x") })).rejects.toEqual(isStatus(status.INVALID_ARGUMENT, "non-empty Data"));
  const option = { gitConfigOptions: ["core.hooksPath=/tmp"] };
  const refused = isStatus(status.INVALID_ARGUMENT, "git_config_options: core.hookspath is not supported here");
  await expect(push(started, empty, option)).rejects.toEqual(refused);
  const other = { repository: { ...repository, relativePath: "none.git" } };
  await expect(push(started, empty, other)).rejects.toEqual(isStatus(status.NOT_FOUND, "repository not found"));
  const listing = messagesOf(started.refs.ListRefs({ repository }));
  await expect(listing).rejects.toEqual(isStatus(status.INVALID_ARGUMENT, "patterns must have at least one entry"));
});

test("a client that goes away in the middle of a push leaves nothing behind", async () => {
  await using started = await startNode();
  const { oid, pack } = makeCommit();
  const body = pushBody([`${zero} ${oid} refs/heads/main`], pack);
  const call = started.smartHttp.PostReceivePack();
  const ended = new Promise<ServiceError>((resolve) => call.on("error", (error) => resolve(error as ServiceError)));
  call.resume();
  call.write({ repository, glId: "user-1" });
  call.write({ data: body.subarray(0, body.length - 10) });
  await new Promise((resolve) => call.on("metadata", resolve));
  call.cancel();
  expect((await ended).code).toBe(status.CANCELLED);
  expect((await started.node.storage.newest(path, neverAborted))?.n).toBe(1);
});
