import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CodedError, checkRelativePath } from "../../../src/base/index.ts";
import { parseRepositoryUrl, redirectUrl } from "../../../src/gateway/repository-url.ts";

describe("a raw target", () => {
  test.each([
    [
      "/a.git/info/refs?service=git-upload-pack",
      { route: "info/refs", path: "a.git", query: "service=git-upload-pack", redirected: false },
    ],
    ["/group/sub/a.git/git-upload-pack", { route: "git-upload-pack", path: "group/sub/a.git", query: "" }],
    ["/a/git-receive-pack", { route: "git-receive-pack", path: "a" }],
    ["http://proxy.example:80/a/git-receive-pack", { path: "a" }],
    ["/info/refs/info/refs", { path: "info/refs" }],
    ["/-x/info/refs", { path: "-x" }],
    ["/-/health/info/refs", { path: "-/health", redirected: false }],
    ["/-/hop/1/info/refs", { path: "-/hop/1", redirected: false }],
    ["/-/hop/1/a.git/info/refs", { path: "a.git", redirected: true }],
    ["/-/hop/1/-/hop/1/a/info/refs", { path: "-/hop/1/a", redirected: true }],
    ["/%2D/hop/1/a/info/refs", { path: "-/hop/1/a", redirected: false }],
    ["/a%20b%2525/info/refs", { path: "a b%25" }],
    ["/%c3%A4/info/refs", { path: "ä" }],
    ["/\u00c3\u00a4/info/refs", { path: "ä" }],
    ["/a+b/info/refs", { path: "a+b" }],
    ["/a\\b/info/refs", { path: "a\\b" }],
  ])("%s names its repository", (target, expected) => {
    expect(parseRepositoryUrl(target)).toMatchObject(expected);
  });

  test.each([
    "/a%2fb/info/refs",
    "/a%2Fb/info/refs",
    "/..%2fetc/info/refs",
    "/../etc/info/refs",
    "/%2e%2e/etc/info/refs",
    "/a/./info/refs",
    "/a/%2e/info/refs",
    "/a//b/info/refs",
    "//a/info/refs",
    "/a//info/refs",
    "/info/refs",
    "/-/hop/1//info/refs",
    "/a%00/info/refs",
    "/a\0/info/refs",
    "/a%/info/refs",
    "/a%4/info/refs",
    "/a%zz/info/refs",
    "/a%+1/info/refs",
    "/%ff/info/refs",
    "/%c0%ae%c0%ae/info/refs",
    "/%ed%a0%80/info/refs",
    "/%ef%bf%bd/info/refs",
    `/${"a".repeat(1025)}/info/refs`,
  ])("%s is refused", (target) => {
    expect(() => parseRepositoryUrl(target)).toThrow(expect.objectContaining({ code: "invalid_path" }));
  });

  test.each([
    "/",
    "",
    "*",
    "/a.git",
    "/a.git/HEAD",
    "/a.git/objects/info/packs",
    "/ainfo/refs",
    "/a/info/refs/",
    "/a/info%2Frefs",
    "a/info/refs",
    "info/refs",
  ])("%s is none of git's", (target) => {
    expect(parseRepositoryUrl(target)).toBeUndefined();
  });

  test("an encoded twice name is decoded once", () => {
    expect(parseRepositoryUrl("/%252e%252e/info/refs")?.path).toBe("%2e%2e");
  });
});

test("every legal path comes back from the URL of a redirect, marked", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (path) => {
      try {
        checkRelativePath(path);
      } catch {
        return;
      }
      const url = redirectUrl("http://b.example:8076/", path, "service=git-upload-pack");
      expect(url).toMatch(/^http:\/\/b\.example:8076\/-\/hop\/1\/[\x21-\x7e]*\/info\/refs\?service=git-upload-pack$/);
      expect(parseRepositoryUrl(url)).toEqual({ route: "info/refs", path, query: "service=git-upload-pack", redirected: true });
    }),
  );
});

test("no target makes it throw anything but invalid_path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
      try {
        const parsed = parseRepositoryUrl(`/${text}/info/refs`);
        if (parsed) checkRelativePath(parsed.path);
      } catch (error) {
        expect(CodedError.is(error, "invalid_path")).toBe(true);
      }
    }),
  );
});
