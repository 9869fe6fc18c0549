import { expect, test } from "vitest";
import { bytesToIp, compareAddresses, formatAddress, ipToBytes } from "../../../src/gossip/address.ts";

test.each(["127.0.0.1", "255.255.255.255", "::1", "::", "fe80::1:2", "2001:db8::8:800:200c:417a", "1:2:3:4:5:6:7:8"])(
  "%s is the same after a way through bytes",
  (host) => {
    expect(bytesToIp(ipToBytes(host) as Uint8Array)).toBe(host);
  },
);

test("what is no IP address has no bytes, and odd lengths no text", () => {
  expect(ipToBytes("localhost")).toBeUndefined();
  expect(bytesToIp(new Uint8Array(5))).toBeUndefined();
});

test("IPv4 in IPv6 reads and compares as IPv4", () => {
  const mapped = ipToBytes("::ffff:10.0.0.1") as Uint8Array;
  expect(mapped).toHaveLength(16);
  expect(bytesToIp(mapped)).toBe("10.0.0.1");
  expect(compareAddresses({ address: mapped, port: 1 }, { address: Uint8Array.of(10, 0, 0, 1), port: 1 })).toBe(0);
});

test("IPv6 addresses are written in brackets", () => {
  expect(formatAddress({ host: "::1", port: 7946 })).toBe("[::1]:7946");
  expect(formatAddress({ host: "10.0.0.1", port: 7946 })).toBe("10.0.0.1:7946");
});
