import fc from "fast-check";
import { expect, test } from "vitest";
import {
  belongsToCluster,
  decodeNodeMeta,
  decodePushPullState,
  encodeNodeMeta,
  encodePushPullState,
  type NodeFacts,
} from "../../../src/server/node-meta.ts";

const clusterId = "00112233445566778899aabbccddeeff";
const facts: NodeFacts = {
  grpcAddress: "127.0.0.1:8075",
  httpUrl: "http://127.0.0.1:8076",
  weight: 2,
  zone: "a",
  state: "ready",
  version: "0.1.0",
  clusterId,
};

test("metadata survives the trip, and names the first 8 bytes of the cluster id", () => {
  expect(decodeNodeMeta(encodeNodeMeta(facts))).toEqual({
    grpcAddress: facts.grpcAddress,
    grpcTls: false,
    httpUrl: facts.httpUrl,
    weight: 2,
    zone: "a",
    state: "ready",
    version: "0.1.0",
    clusterIdPrefix: Buffer.from("0011223344556677", "hex"),
  });
});

test("metadata of more than 512 bytes is refused, never cut", () => {
  expect(() => encodeNodeMeta({ ...facts, zone: "z".repeat(500) })).toThrowError(expect.objectContaining({ code: "limit_exceeded" }));
});

test("metadata that names another cluster does not belong, a foreign member's does", () => {
  expect(belongsToCluster(encodeNodeMeta(facts), clusterId)).toBe(true);
  expect(belongsToCluster(encodeNodeMeta(facts), "ff".repeat(16))).toBe(false);
  expect(belongsToCluster(new Uint8Array(), clusterId)).toBe(true);
  expect(belongsToCluster(Buffer.from("role=web"), clusterId)).toBe(true);
});

test("any bytes decode to a node or to nothing", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 512 }), (bytes) => void decodeNodeMeta(bytes)));
});

test("push/pull state carries the whole cluster id", () => {
  expect(decodePushPullState(encodePushPullState(clusterId))).toBe(clusterId);
  expect(decodePushPullState(new Uint8Array())).toBeUndefined();
  expect(decodePushPullState(Buffer.from([255, 255]))).toBeUndefined();
});
