import { expect, test } from "vitest";
import { liveNodes } from "../../../src/server/live-nodes.ts";
import { memberInfo, memberView } from "../../support/member-view.ts";

test("nodes that live are counted, this one always, foreign members never", () => {
  expect(liveNodes(memberView("a", [], []))).toBe(1);
  const members = [
    memberInfo("a"),
    memberInfo("b", { status: "warming" }),
    memberInfo("c", { status: "draining" }),
    memberInfo("d", { status: "suspect" }),
    memberInfo("e", { status: "failed" }),
    memberInfo("f", { status: "left" }),
    memberInfo("g", { status: "alive", grpcAddress: "" }),
    memberInfo("h", { status: "suspect", grpcAddress: "" }),
  ];
  expect(liveNodes(memberView("a", members, ["a"]))).toBe(4);
});

test("a view is looked through once, however often its nodes are asked for; another view anew", () => {
  let looks = 0;
  const member = {
    ...memberInfo("b"),
    get status() {
      looks++;
      return "ready" as const;
    },
  };
  const view = memberView("a", [memberInfo("a"), member], ["a"]);
  expect([liveNodes(view), liveNodes(view), liveNodes(view), looks]).toEqual([2, 2, 2, 1]);
  expect([liveNodes({ ...view, members: [] }), liveNodes({ ...view }), looks]).toEqual([1, 2, 2]);
});
