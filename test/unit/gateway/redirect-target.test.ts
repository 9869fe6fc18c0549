import { describe, expect, test } from "vitest";
import { redirectTarget } from "../../../src/gateway/redirect-target.ts";
import { parseRepositoryUrl, type RepositoryUrl } from "../../../src/gateway/repository-url.ts";
import { memberInfo, memberView } from "../../support/member-view.ts";

const url = parseRepositoryUrl("/group/a%20b.git/info/refs?service=git-upload-pack") as RepositoryUrl;
const request = { url, service: "git-upload-pack", replicas: undefined } as const;
const b = memberInfo("b", { httpUrl: "http://10.0.0.2:8076" });

describe("the target of a redirect", () => {
  test("is the owner's URL with the same tail and the mark that it is the only one", () => {
    expect(redirectTarget(memberView("a", [memberInfo("a"), b], ["b"]), request)).toBe(
      "http://10.0.0.2:8076/-/hop/1/group/a%20b.git/info/refs?service=git-upload-pack",
    );
  });

  test("is nowhere for an owner, for a request that was redirected, and without owners", () => {
    expect(redirectTarget(memberView("b", [memberInfo("a"), b], ["b"]), request)).toBeUndefined();
    expect(redirectTarget(memberView("a", [memberInfo("a"), b], ["b"]), { ...request, url: { ...url, redirected: true } })).toBeUndefined();
    expect(redirectTarget(memberView("a", [memberInfo("a")], []), request)).toBeUndefined();
  });

  test.each(["suspect", "failed", "left", "draining", "alive"] as const)("is not an owner that is %s", (status) => {
    expect(redirectTarget(memberView("a", [memberInfo("a"), memberInfo("b", { status })], ["b"]), request)).toBeUndefined();
  });

  test("is the owner that is ready where another one is suspect", () => {
    const members = [memberInfo("a"), memberInfo("b", { status: "suspect" }), memberInfo("c", { httpUrl: "http://c:1/" })];
    expect(redirectTarget(memberView("a", members, ["b", "c"], 2), request)).toBe(
      "http://c:1/-/hop/1/group/a%20b.git/info/refs?service=git-upload-pack",
    );
  });

  test.each(["", "nonsense", "javascript:alert(1)", "file:///etc", "http://user:pw@b", "http://b/?x=1", "http://b/#x", "grpc://b:1"])(
    "is never made from the announced URL %j",
    (httpUrl) => {
      expect(redirectTarget(memberView("a", [memberInfo("a"), memberInfo("b", { httpUrl })], ["b"]), request)).toBeUndefined();
    },
  );
});
