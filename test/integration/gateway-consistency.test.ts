import { expect, test } from "vitest";
import { EchoSmartHttp } from "../support/echo-smart-http.ts";
import { ask } from "../support/http-ask.ts";
import { startGateway } from "../support/start-gateway.ts";

const headers = { "Content-Type": "application/x-git-receive-pack-request" };

test("a push that brings its tokens along is answered with the next one after the body; nobody else waits for it", async () => {
  const asked: unknown[] = [];
  const consistency = async (path: string, given: readonly string[]) => {
    asked.push([path, given]);
    return path === "none.git" ? undefined : "signed";
  };
  await using gateway = await startGateway(new EchoSmartHttp(), {}, { consistency });
  const push = (path: string, more: Record<string, string>) =>
    ask(gateway.port, `/${path}/git-receive-pack`, { headers: { ...headers, ...more }, body: "0000" });
  expect(await push("a.git", { "Gitaly-Consistency": "one, two" })).toMatchObject({
    body: "0000",
    headers: { trailer: "Gitaly-Consistency" },
    trailers: { "gitaly-consistency": "signed" },
  });
  expect(await push("a.git", { "Gitaly-Consistency": "" })).toMatchObject({ trailers: { "gitaly-consistency": "signed" } });
  expect(await push("none.git", { "Gitaly-Consistency": "one" })).toMatchObject({ body: "0000", trailers: {} });
  expect(asked).toEqual([
    ["a.git", ["one", "two"]],
    ["a.git", []],
    ["none.git", ["one"]],
  ]);
  expect((await push("a.git", {})).headers).not.toHaveProperty("trailer");
  const fetched = await ask(gateway.port, "/a.git/git-upload-pack", {
    headers: { "Content-Type": "application/x-git-upload-pack-request", "Gitaly-Consistency": "one" },
    body: "wants",
  });
  expect(fetched).toMatchObject({ body: "wants", trailers: {} });
  expect(asked).toHaveLength(3);
});
