import { expect, test } from "vitest";
import { infoRefsUploadPack } from "../../../../src/services/smart-http/info-refs-upload-pack.ts";
import { collect, repositoryMessage, ServicesFixture } from "../../../support/services-fixture.ts";

const request = (path: string, gitProtocol = "", gitConfigOptions: string[] = []) => ({
  repository: repositoryMessage(path),
  gitProtocol,
  gitConfigOptions,
});

test("the advertisement comes joined into few messages of at most 128 KiB", async () => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  const lines = Array.from({ length: 5000 }, (_, i) => Buffer.from(`${String(i).padStart(60, "0")}\n`));
  fixture.git = { advertise: (_view, service) => [Buffer.from(service), ...lines] };
  const messages = await collect(infoRefsUploadPack(fixture.deps)(request("a.git"), fixture.call()));
  const sent = Buffer.concat(messages.map(({ data }) => data as Buffer));
  expect(sent.equals(Buffer.concat([Buffer.from("git-upload-pack"), ...lines]))).toBe(true);
  expect(messages).toHaveLength(3);
  for (const { data } of messages) expect((data as Buffer).length).toBeLessThanOrEqual(128 * 1024);
  expect(fixture.openLeases).toBe(0);
});

test.each([
  ["version=1", "version=1"],
  ["version=2", "version=2"],
  ["version=3", ""],
  ["version=2:x", ""],
  ["", ""],
])("the protocol %j is taken as %j", async (asked, taken) => {
  const fixture = new ServicesFixture();
  fixture.add("a.git");
  fixture.git = { advertise: (_view, _service, gitProtocol) => [Buffer.from(`<${gitProtocol}>`)] };
  const [message] = await collect(infoRefsUploadPack(fixture.deps)(request("a.git", asked), fixture.call()));
  expect(String(message?.data)).toBe(`<${taken}>`);
});

test("an unknown repository and options that would reach git are refused", async () => {
  const fixture = new ServicesFixture();
  const ask = (...args: Parameters<typeof request>) => collect(infoRefsUploadPack(fixture.deps)(request(...args), fixture.call()));
  await expect(ask("a.git")).rejects.toMatchObject({ code: "repository_not_found" });
  await expect(ask("a.git", "", ["core.sshCommand=x"])).rejects.toMatchObject({ code: "invalid_argument" });
});
