import { expect, test } from "vitest";
import { compressMessage } from "../../../src/gossip/codec/compress.ts";
import type { PacketMessage, PushPullMessage } from "../../../src/gossip/codec/message.ts";
import { MsgpackReader } from "../../../src/gossip/codec/msgpack-reader.ts";
import { encodeStruct } from "../../../src/gossip/codec/msgpack-writer.ts";
import { decodePacketMessage, encodePacketMessage } from "../../../src/gossip/codec/packet-message.ts";
import { encodePushPull, PushPullParser } from "../../../src/gossip/codec/push-pull-message.ts";

const loopback = Uint8Array.of(127, 0, 0, 1);
const versions = Uint8Array.of(1, 5, 2, 0, 0, 0);

const golden: [name: string, type: number, message: PacketMessage, body: string][] = [
  [
    "ping",
    0,
    { type: "ping", seqNo: 300, node: "n1", source: { address: loopback, port: 7946, node: "n2" } },
    "85a44e6f6465a26e31a55365714e6fcd012caa536f7572636541646472a47f000001aa536f757263654e6f6465a26e32aa536f75726365506f7274cd1f0a",
  ],
  ["ack", 2, { type: "ack", seqNo: 70000, payload: Uint8Array.of(1) }, "82a75061796c6f6164a101a55365714e6fce00011170"],
  [
    "suspect",
    3,
    { type: "suspect", incarnation: 128, node: "n1", from: "n2" },
    "83a446726f6da26e32ab496e6361726e6174696f6ecc80a44e6f6465a26e31",
  ],
  [
    "alive",
    4,
    { type: "alive", incarnation: 1, node: "n1", address: loopback, port: 7946, meta: new Uint8Array(), versions },
    "86a441646472a47f000001ab496e6361726e6174696f6e01a44d657461c0a44e6f6465a26e31a4506f7274cd1f0aa356736ea6010502000000",
  ],
  [
    "indirectPing",
    1,
    {
      type: "indirectPing",
      seqNo: 5,
      target: loopback,
      port: 7946,
      node: "n1",
      nack: true,
      source: { address: loopback, port: 7947, node: "n2" },
    },
    "88a44e61636bc3a44e6f6465a26e31a4506f7274cd1f0aa55365714e6f05aa536f7572636541646472a47f000001aa536f757263654e6f6465a26e32aa536f75726365506f7274cd1f0ba6546172676574a47f000001",
  ],
];

test.each(golden)("a %s message is the bytes that Go writes, and is read back", (_name, type, message, body) => {
  const bytes = encodePacketMessage(message);
  expect(bytes[0]).toBe(type);
  expect(bytes.subarray(1).toString("hex")).toBe(body);
  expect(decodePacketMessage(bytes)).toEqual(message);
});

test("an acknowledgement of nothing leaves out the payload that Go writes as nil; both are read", () => {
  const message: PacketMessage = { type: "ack", seqNo: 70000, payload: null };
  expect(encodePacketMessage(message).toString("hex")).toBe("0281a55365714e6fce00011170");
  for (const hex of ["0281a55365714e6fce00011170", "0282a75061796c6f6164c0a55365714e6fce00011170"]) {
    expect(decodePacketMessage(Buffer.from(hex, "hex"))).toEqual(message);
  }
});

const node = { name: "n1", address: loopback, port: 7946, meta: new Uint8Array(), incarnation: 1, state: "left", versions } as const;
const nodeBody =
  "87a441646472a47f000001ab496e6361726e6174696f6e01a44d657461c0a44e616d65a26e31a4506f7274cd1f0aa5537461746503a356736ea6010502000000";

test("a push/pull header is the bytes that old peers write", () => {
  expect(encodeStruct({ Nodes: 200, UserStateLen: 100000, Join: true }).toString("hex")).toBe(
    "83a44a6f696ec3a54e6f646573ccc8ac5573657253746174654c656ece000186a0",
  );
});

test("a push/pull node state is the bytes that Go writes", () => {
  const message: PushPullMessage = { type: "pushPull", join: true, nodes: [node], userState: new Uint8Array() };
  expect(encodePushPull(message).toString("hex")).toBe(`0683a44a6f696ec3a54e6f64657301ac5573657253746174654c656e00${nodeBody}`);
});

test.each([
  ["unsigned", "83a44a6f696ec3a54e6f646573ccc8ac5573657253746174654c656ece000186a0"],
  ["signed", "83a44a6f696ec3a54e6f646573d100c8ac5573657253746174654c656ed2000186a0"],
])("a push/pull header with %s lengths is read", (_name, header) => {
  const bytes = Buffer.concat([Buffer.from(header + nodeBody.repeat(200), "hex"), Buffer.alloc(100_000, 7)]);
  const message = new PushPullParser(() => {}).read(new MsgpackReader(bytes), () => {});
  expect(message.join).toBe(true);
  expect(message.nodes).toHaveLength(200);
  expect(message.nodes[199]).toEqual(node);
  expect(message.userState).toEqual(new Uint8Array(100_000).fill(7));
});

test("a compressed message is the struct that Go writes", () => {
  expect(encodeStruct({ Algo: 0, Buf: Uint8Array.of(1, 2, 3) }).toString("hex")).toBe("82a4416c676f00a3427566a3010203");
  expect(compressMessage(Uint8Array.of(1))[0]).toBe(9);
});

test("values of 32 to 255 bytes have a 16-bit length, longer than 65535 a 32-bit one", () => {
  expect(
    encodeStruct({ A: "x".repeat(40) })
      .subarray(3, 6)
      .toString("hex"),
  ).toBe("da0028");
  expect(
    encodeStruct({ A: new Uint8Array(70_000) })
      .subarray(3, 8)
      .toString("hex"),
  ).toBe("db00011170");
});

test("everything that Go decoders take is taken: str8, bin8, arrays, positional structs, unknown keys, any width, nil", () => {
  const suspect = { type: "suspect", incarnation: 7, node: "n1", from: "n2" };
  const accepted = [
    "83 a446726f6d d9026e32 ab496e6361726e6174696f6e 07 a44e6f6465 c4026e31",
    "93 07 a26e31 a26e32",
    "84 a25a5a 82a17801a17992c0cb0000000000000000 a44e6f6465 a26e31 a446726f6d a26e32 ab496e6361726e6174696f6e cf0000000000000007",
    "83 ab496e6361726e6174696f6e d30000000000000007 a44e6f6465 da00026e31 a446726f6d db000000026e32",
  ];
  for (const body of accepted) expect(decodePacketMessage(Buffer.from(`03${body.replaceAll(" ", "")}`, "hex"))).toEqual(suspect);
  const nils = decodePacketMessage(Buffer.from("0383a446726f6dc0ab496e6361726e6174696f6ec0a44e6f6465c0", "hex"));
  expect(nils).toEqual({ type: "suspect", incarnation: 0, node: "", from: "" });
  const vsn = decodePacketMessage(Buffer.from("0481a356736e96010502000000", "hex"));
  expect(vsn).toMatchObject({ versions });
});
