import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MemberView } from "../../src/routing/index.ts";
import { memberInfo, memberView } from "../support/member-view.ts";
import { startGateway } from "../support/start-gateway.ts";
import { git, runGit } from "../support/stock-git.ts";
import { StockSmartHttp } from "../support/stock-smart-http.ts";

let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "gateway-git-"));
  const bare = join(base, "root/group/my repo.git");
  await git("init", "-q", "--bare", "-b", "main", bare);
  await git("-C", bare, "config", "http.receivepack", "true");
  await git("init", "-q", "-b", "main", join(base, "work"));
  await writeFile(join(base, "work/file"), "content\n");
  await git("-C", join(base, "work"), "add", ".");
  await git("-C", join(base, "work"), "commit", "-q", "-m", "first");
  await git("-C", join(base, "work"), "push", "-q", bare, "main");
});
afterEach(() => rm(base, { recursive: true, force: true }));

const repository = "group/my%20repo.git";

/** Two nodes of which each thinks that the other one owns everything. */
async function twoNodes() {
  const a = new StockSmartHttp(join(base, "root"));
  const b = new StockSmartHttp(join(base, "root"));
  const urls = { a: "", b: "" };
  const view = (self: "a" | "b"): MemberView =>
    memberView(self, [memberInfo("a", { httpUrl: urls.a }), memberInfo("b", { httpUrl: urls.b })], [self === "a" ? "b" : "a"]);
  const gatewayA = await startGateway(a, { nodeName: "a" }, { view: () => view("a") });
  const gatewayB = await startGateway(b, { nodeName: "b" }, { view: () => view("b") });
  urls.a = gatewayA.url;
  urls.b = gatewayB.url;
  return {
    a,
    b,
    urls,
    [Symbol.asyncDispose]: async () => {
      await gatewayA.destroy();
      await gatewayB.destroy();
    },
  };
}

async function commitAndPush(url: string, ...options: string[]): Promise<void> {
  await writeFile(join(base, "work/file"), "changed\n");
  await git("-C", join(base, "work"), "commit", "-q", "-a", "-m", "second");
  await git(...options, "-C", join(base, "work"), "push", "-q", url, "main");
}

describe("nodes that would send a client to each other for ever", () => {
  // B77
  test.each(["0", "1", "2"])("redirect it once: protocol %s clones, and all of its requests go to the second node", async (version) => {
    await using nodes = await twoNodes();
    const clone = join(base, "clone");
    await git("-c", `protocol.version=${version}`, "clone", "-q", `${nodes.urls.a}/${repository}`, clone);
    expect(await git("-C", clone, "log", "--format=%s")).toBe("first\n");
    expect(nodes.a.requests).toEqual([]);
    expect(nodes.b.requests[0]).toBe("info/refs group/my repo.git");
    expect(new Set(nodes.b.requests.slice(1))).toEqual(new Set(["git-upload-pack group/my repo.git"]));
  });

  test("redirect a push once, large enough to be sent in chunks after a probe", async () => {
    await using nodes = await twoNodes();
    await commitAndPush(`${nodes.urls.a}/${repository}`, "-c", "http.postBuffer=65536");
    await writeFile(join(base, "work/large"), Buffer.from(Array.from({ length: 400_000 }, (_, i) => (i * 7919) % 251)));
    await git("-C", join(base, "work"), "add", ".");
    await git("-C", join(base, "work"), "commit", "-q", "-m", "large");
    await git("-c", "http.postBuffer=1024", "-C", join(base, "work"), "push", "-q", `${nodes.urls.a}/${repository}`, "main");
    expect(nodes.a.requests).toEqual([]);
    const tip = await git("-C", join(base, "work"), "rev-parse", "HEAD");
    expect(await git("-C", join(base, "root/group/my repo.git"), "rev-parse", "main")).toBe(tip);
  });
});

test("a client that follows no redirects is served by saying so, or with its credentials", async () => {
  await using nodes = await twoNodes();
  const headers = [`Gitaly-Redirect: never`, `Authorization: Basic ${Buffer.from("u:p").toString("base64")}`];
  for (const [i, header] of headers.entries()) {
    const options = ["-c", "http.followRedirects=false", "-c", `http.extraHeader=${header}`];
    await git(...options, "clone", "-q", `${nodes.urls.a}/${repository}`, join(base, `clone-${i}`));
  }
  expect(nodes.b.requests).toEqual([]);
});

test("an unknown repository: git shows the command that creates it", async () => {
  await using gateway = await startGateway(new StockSmartHttp(join(base, "root")));
  const { code, stderr } = await runGit(["clone", `${gateway.url}/none.git`, join(base, "clone")]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("remote: repository not found; create it with: gitaly repo create none.git");
});

test.each(["0", "2"])("a clone with more wants than fit an uncompressed request works with protocol %s", async (version) => {
  // B113
  const branch = (n: number) =>
    `commit refs/heads/b${n}\ncommitter A <a@example.com> ${1_700_000_000 + n} +0000\ndata 2\nc\nM 644 inline f\ndata 2\n${n % 10}\n\n`;
  const input = Array.from({ length: 402 }, (_, n) => branch(n)).join("\n");
  execFileSync("git", ["-C", join(base, "root/group/my repo.git"), "fast-import", "--quiet"], { input });
  await using gateway = await startGateway(new StockSmartHttp(join(base, "root")));
  const clone = join(base, "clone");
  const { code, stderr } = await runGit(["-c", `protocol.version=${version}`, "clone", "--mirror", `${gateway.url}/${repository}`, clone], {
    env: { GIT_TRACE_CURL: "1", GIT_TRACE_CURL_NO_DATA: "1" },
  });
  expect(stderr).toContain("Content-Encoding: gzip");
  expect(code).toBe(0);
  expect((await git("-C", clone, "for-each-ref")).split("\n")).toHaveLength(404);
});
