import { expect, test } from "vitest";
import { createNetworkFilter } from "../../../src/gossip/network-filter.ts";

test("an address is allowed where a network has it, of its own family only", () => {
  const isAllowed = createNetworkFilter(["10.1.0.0/16", "fd00::/8", "192.0.2.7/32"]);
  expect(["10.1.255.3", "192.0.2.7", "fd12::1"].map(isAllowed)).toEqual([true, true, true]);
  expect(["10.2.0.1", "192.0.2.8", "fe80::1", "::1", "host.test", ""].map(isAllowed)).toEqual([false, false, false, false, false, false]);
  expect(["10.2.0.1", "fe80::1"].map(createNetworkFilter(["0.0.0.0/0"]))).toEqual([true, false]);
});

test.each(["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "host/8", "/8", "10.0.0.0/-1", ""])("%j is no network", (network) => {
  expect(() => createNetworkFilter([network])).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});
