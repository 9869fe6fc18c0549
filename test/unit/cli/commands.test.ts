import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { runFakeCli, StandingClock } from "../../support/fake-cli.ts";
import { fakeConnect, fakeMember, fakeRepository, fakeStatus } from "../../support/fake-cluster.ts";

const members = [
  fakeMember("a", { zone: "eu", weight: 2 }),
  fakeMember("b"),
  fakeMember("go", { status: "alive", grpcAddress: "", httpUrl: "", weight: 0 }),
  fakeMember("old", { status: "left" }),
];

/** `a` agrees, `b` never answers: its second passes as soon as it is asked. */
function cluster(clock: StandingClock) {
  return {
    cluster: {
      listMembers: async () => ({ members, ringFingerprint: "00000000000000aa" }),
      route: async () => ({
        owners: [
          { name: "b", grpcAddress: "b:8075", httpUrl: "http://b:8076", zone: "", weight: 1, siteHash: "00000000000000bb", cost: 0.25 },
          { name: "a", grpcAddress: "a:8075", httpUrl: "http://a:8076", zone: "eu", weight: 2, siteHash: "00000000000000cc", cost: 0.5 },
        ],
        replicas: 2,
        ringFingerprint: "00000000000000aa",
        repositoryHash: "00000000000000dd",
      }),
    },
    statusAt: (address: string, signal: AbortSignal) => {
      if (address === "grpc://a:8075") return Promise.resolve(fakeStatus("a"));
      setImmediate(() => clock.advance(1000));
      return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
}

test("members --json has the documented shape, with the fingerprint of each node that answers within a second", async () => {
  const clock = new StandingClock();
  const dialled: string[] = [];
  const { code, stdout } = await runFakeCli("members --json", { deps: { clock, connect: fakeConnect(cluster(clock), dialled) } });
  expect(code).toBe(0);
  const b = { name: "b", status: "ready", grpc: "b:8075", http: "http://b:8076", gossip: "b:7946", weight: 1, zone: "", version: "1.2.3" };
  expect(JSON.parse(stdout)).toEqual([
    { ...b, name: "a", grpc: "a:8075", http: "http://a:8076", gossip: "a:7946", weight: 2, zone: "eu", fingerprint: "00000000000000aa" },
    { ...b, fingerprint: null },
    { ...b, name: "go", status: "alive", grpc: "", http: "", gossip: "go:7946", weight: 0, fingerprint: null },
    { ...b, name: "old", status: "left", grpc: "old:8075", http: "http://old:8076", gossip: "old:7946", fingerprint: null },
  ]);
  expect(dialled).toEqual(["grpc://127.0.0.1:8075", "grpc://a:8075", "grpc://b:8075"]);
});

test("members for people is a table", async () => {
  const clock = new StandingClock();
  const { stdout } = await runFakeCli("members", { deps: { clock, connect: fakeConnect(cluster(clock)) } });
  expect(stdout.split("\n").slice(0, 3)).toEqual([
    "NAME  STATUS  GRPC      HTTP             GOSSIP    WEIGHT  ZONE  VERSION  FINGERPRINT",
    "a     ready   a:8075    http://a:8076    a:7946    2       eu    1.2.3    00000000000000aa",
    "b     ready   b:8075    http://b:8076    b:7946    1       -     1.2.3    -",
  ]);
});

test("route --json has the documented shape; members that have left have no view", async () => {
  const clock = new StandingClock();
  const { stdout } = await runFakeCli("route demo/app.git --json", { deps: { clock, connect: fakeConnect(cluster(clock)) } });
  expect(JSON.parse(stdout)).toEqual({
    repository: "demo/app.git",
    replicas: 2,
    owners: [
      { name: "b", grpc: "b:8075", http: "http://b:8076" },
      { name: "a", grpc: "a:8075", http: "http://a:8076" },
    ],
    fingerprint: "00000000000000aa",
    views: { a: "00000000000000aa", b: null, go: null },
  });
});

test("route for people shows what the order comes from, and says when nodes disagree", async () => {
  const clock = new StandingClock();
  const fake = cluster(clock);
  const agree = await runFakeCli("route demo/app.git", { deps: { clock, connect: fakeConnect(fake) } });
  expect(agree.stdout).toContain("b      b:8075  http://b:8076  -     1       00000000000000bb  0.25000000");
  expect(agree.stdout).toContain("b     no answer");
  expect(agree.stdout).not.toContain("do not see the same ring");
  const statusAt = async (address: string) =>
    fakeStatus("x", { ringFingerprint: address.includes("b:") ? "00000000000000ff" : "00000000000000aa" });
  const differ = await runFakeCli("route demo/app.git", { deps: { connect: fakeConnect({ ...fake, statusAt }) } });
  expect(differ.stdout).toContain("the nodes do not see the same ring yet");
});

test("status shows the node's checks, for scripts and for people", async () => {
  const checks = [
    { name: "object store", ok: true, message: "" },
    { name: "database", ok: false, message: "set database.url" },
  ];
  const connect = fakeConnect({ cluster: { status: async () => fakeStatus("a", { checks }) } });
  const json = await runFakeCli("status --json --addr grpc://10.0.0.1:9", { deps: { connect } });
  expect(JSON.parse(json.stdout)).toEqual({
    node: "a",
    cluster_id: "c1",
    state: "ready",
    version: "1.2.3",
    git_version: "2.44.0",
    uptime_seconds: 93784,
    fingerprint: "00000000000000aa",
    members: 3,
    sites: 2,
    object_storage: "file:///d/objects",
    database: "embedded",
    cache_bytes: 1536,
    checks,
  });
  const people = await runFakeCli("status", { deps: { connect } });
  expect(people.stdout).toContain("up            1d 2h\n");
  expect(people.stdout).toContain("cache         1.5 KiB\n");
  expect(people.stdout).toContain("ok    object store\nFAIL  database: set database.url\n");
  expect(people.code).toBe(0);
});

test("repo create names the URL of a ready member, of the asked one if it is ready", async () => {
  const created: unknown[] = [];
  const connect = fakeConnect({
    cluster: { listMembers: async () => ({ members: [fakeMember("w", { status: "warming" }), ...members], ringFingerprint: "" }) },
    repository: {
      createRepository: async (request) => {
        created.push(request);
        return {};
      },
    },
  });
  const first = await runFakeCli("repo create demo/app.git", { deps: { connect } });
  expect(first.stdout).toBe(
    "created demo/app.git\n  clone  git clone http://a:8076/demo/app.git\n  push   git push http://a:8076/demo/app.git main\n",
  );
  const asked = ["repo", "create", "ä ?#%.git", "--object-format", "sha256", "--default-branch", "trunk", "--addr", "http://b", "--json"];
  const second = await runFakeCli(asked, { deps: { connect } });
  expect(JSON.parse(second.stdout)).toEqual({
    relative_path: "ä ?#%.git",
    object_format: "sha256",
    url: "http://b:8076/%C3%A4%20%3F%23%25.git",
  });
  expect(created).toEqual([
    {
      repository: { storageName: "default", relativePath: "demo/app.git" },
      objectFormat: "OBJECT_FORMAT_SHA1",
      defaultBranch: Buffer.from("main"),
    },
    {
      repository: { storageName: "default", relativePath: "ä ?#%.git" },
      objectFormat: "OBJECT_FORMAT_SHA256",
      defaultBranch: Buffer.from("trunk"),
    },
  ]);
});

test("repo create names a URL that reaches a repository whose path begins like the node's own pages", async () => {
  const connect = fakeConnect({
    cluster: { listMembers: async () => ({ members, ringFingerprint: "" }) },
    repository: { createRepository: async () => ({}) },
  });
  const { stdout } = await runFakeCli("repo create --json -- -/hop/1/x.git", { deps: { connect } });
  expect(JSON.parse(stdout)).toMatchObject({ url: "http://a:8076/%2D/hop/1/x.git" });
});

test("repo create succeeds even where nobody can name the URL", async () => {
  const createRepository = async () => ({});
  const listMembers = () => Promise.reject(new CodedError("node_unavailable", "gone"));
  const failing = await runFakeCli("repo create a", {
    deps: { connect: fakeConnect({ cluster: { listMembers }, repository: { createRepository } }) },
  });
  expect([failing.code, failing.stdout]).toEqual([0, "created a; the members could not be asked for its URL\n"]);
});

test("an existing repository is an error of one line", async () => {
  const createRepository = () =>
    Promise.reject(
      new CodedError("repository_exists", "repository exists already", { method: "gitaly.X/Y", grpcCode: 6, node: "a", details: [] }),
    );
  const { code, stderr } = await runFakeCli("repo create a", { deps: { connect: fakeConnect({ repository: { createRepository } }) } });
  expect([code, stderr]).toEqual([1, "gitaly: repository exists already (node: a)\n"]);
});

test("repo list joins all messages of the stream and passes the prefix on", async () => {
  const prefixes: unknown[] = [];
  const connect = fakeConnect({
    cluster: {
      async *listRepositories({ prefix }) {
        prefixes.push(prefix);
        yield { repositories: [fakeRepository("a"), fakeRepository("b/c")], paginationCursor: null };
        yield { repositories: [fakeRepository("d\u001b[2J")], paginationCursor: null };
      },
    },
  });
  const json = await runFakeCli("repo list --json --prefix x/", { deps: { connect } });
  expect((JSON.parse(json.stdout) as { relative_path: string }[]).map((row) => row.relative_path)).toEqual(["a", "b/c", "d\u001b[2J"]);
  const people = await runFakeCli("repo list", { deps: { connect } });
  expect(people.stdout.split("\n")[1]).toBe("a      sha1    main    7           2.0 KiB  3     2");
  expect(people.stdout).not.toContain("\u001b");
  expect(prefixes).toEqual(["x/", ""]);
});

test("repo list without repositories says so", async () => {
  const connect = fakeConnect({ cluster: { async *listRepositories() {} } });
  expect((await runFakeCli("repo list", { deps: { connect } })).stdout).toBe("no repositories\n");
  expect((await runFakeCli("repo list --json", { deps: { connect } })).stdout).toBe("[]\n");
});

test("repo info --json has the documented shape; the branch is shown without refs/heads/", async () => {
  const connect = fakeConnect({
    cluster: { getRepository: async () => ({ repository: fakeRepository("a", { defaultBranch: Buffer.from("refs/heads/tränk") }) }) },
  });
  const { stdout } = await runFakeCli("repo info a --json", { deps: { connect } });
  expect(JSON.parse(stdout)).toEqual({
    relative_path: "a",
    id: "r1",
    object_format: "sha1",
    default_branch: "tränk",
    generation: 7,
    replicas: 1,
    size_bytes: 2048,
    refs: 3,
    packs: 2,
  });
  expect((await runFakeCli("repo info a", { deps: { connect } })).stdout).toContain("default branch  tränk\n");
});

test.each([
  ["y", 0, 1],
  ["YES", 0, 1],
  ["", 1, 0],
  ["no", 1, 0],
])("repo rm asks on a terminal: the answer %j", async (answer, code, removals) => {
  const removed: unknown[] = [];
  const removeRepository = async (request: unknown) => {
    removed.push(request);
    return {};
  };
  const result = await runFakeCli("repo rm a", {
    isTerminal: true,
    answer,
    deps: { connect: fakeConnect({ repository: { removeRepository } }) },
  });
  expect([result.code, removed.length]).toEqual([code, removals]);
});

test("repo rm --yes does not ask", async () => {
  const removeRepository = async () => ({});
  const deps = { connect: fakeConnect({ repository: { removeRepository } }) };
  expect(await runFakeCli("repo rm a --yes", { deps })).toEqual({ code: 0, stdout: "removed a\n", stderr: "" });
  expect(JSON.parse((await runFakeCli("repo rm a --yes --json", { deps })).stdout)).toEqual({ relative_path: "a", removed: true });
});

test("a node that cannot be reached is one line and a hint that names it", async () => {
  const status = () => Promise.reject(new CodedError("node_unavailable", "no node answered", { address: "127.0.0.1:8075", grpcCode: 14 }));
  const { code, stderr } = await runFakeCli("status", { deps: { connect: fakeConnect({ cluster: { status } }) } });
  expect(code).toBe(1);
  expect(stderr.split("\n")).toEqual([
    "gitaly: no node answered (address: 127.0.0.1:8075)",
    "hint: is a node running at http://127.0.0.1:8075? start one with: npx gitaly serve; or name another with --addr URL",
    "",
  ]);
});

test("a call that the node does not know is a failure, not bad usage", async () => {
  const status = () => Promise.reject(new CodedError("not_built_yet", "unknown method", { grpcCode: 12 }));
  const { code, stderr } = await runFakeCli("status", { deps: { connect: fakeConnect({ cluster: { status } }) } });
  expect([code, stderr]).toEqual([1, "gitaly: unknown method\n"]);
});

test("a node that never answers ends the command after a minute", async () => {
  const clock = new StandingClock();
  const status = (_: unknown, { signal }: { signal: AbortSignal }) => {
    setImmediate(() => clock.advance(60_000));
    return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const { code, stderr } = await runFakeCli("status", { deps: { clock, connect: fakeConnect({ cluster: { status } }) } });
  expect([code, stderr]).toEqual([1, "gitaly: deadline passed (afterMs: 60000)\n"]);
});

test("a defect of ours is one line without a stack", async () => {
  const status = () => Promise.reject(new TypeError("x is not a function\u001b[31m"));
  const { code, stderr } = await runFakeCli("status", { deps: { connect: fakeConnect({ cluster: { status } }) } });
  expect([code, stderr]).toEqual([1, "gitaly: x is not a function\ufffd[31m\n"]);
});

test("check prints each result and ends with 1 when one fails", async () => {
  const checks = (ok: boolean) =>
    async function* () {
      yield { name: "git", ok: true, message: "2.44.0" };
      yield { name: "object store", ok, message: ok ? "" : "refuses create-only writes" };
    };
  const loadConfig = () => ({ advertiseHost: undefined, ignored: ["bin_dir"] });
  const good = await runFakeCli("check", { deps: { loadConfig, runChecks: checks(true) } });
  expect(good).toEqual({
    code: 0,
    stdout: "ok    configuration: ignored, they have no effect here: bin_dir\nok    git: 2.44.0\nok    object store\n",
    stderr: "",
  });
  const bad = await runFakeCli("check --json --data-dir d", { deps: { loadConfig, runChecks: checks(false) } });
  expect(bad.code).toBe(1);
  expect(JSON.parse(bad.stdout)).toEqual([
    { name: "configuration", ok: true, message: "ignored, they have no effect here: bin_dir" },
    { name: "git", ok: true, message: "2.44.0" },
    { name: "object store", ok: false, message: "refuses create-only writes" },
  ]);
});

test("config show prints the merged file, or its settings as JSON", async () => {
  const settings = [
    { key: "cluster.hash_seed", value: 2n ** 64n - 1n, from: "gitaly.toml:1" },
    { key: "data_dir", value: undefined, from: "default" },
  ];
  const showConfig = () => ({ toml: "a = 1\nb = '\u009b'\n", settings });
  expect((await runFakeCli("config show", { deps: { showConfig } })).stdout).toBe("a = 1\nb = '\ufffd'\n");
  const json = await runFakeCli("config show --json", { deps: { showConfig } });
  expect(JSON.parse(json.stdout)).toEqual([
    { key: "cluster.hash_seed", value: "18446744073709551615", from: "gitaly.toml:1" },
    { key: "data_dir", value: null, from: "default" },
  ]);
});
