import { expect, test } from "vitest";
import { makeCompounds, splitCompound } from "../../src/gossip/codec/compound.ts";
import { compressMessage, expandMessage } from "../../src/gossip/codec/compress.ts";
import { crc32 } from "../../src/gossip/codec/crc32.ts";
import { labelHeader, stripLabel } from "../../src/gossip/codec/label.ts";
import { messageType } from "../../src/gossip/codec/message.ts";
import { decodePacketMessage, encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../src/gossip/codec/stream.ts";
import { simRandom } from "../support/sim-random.ts";
import { readNamedCorpus } from "./gossip-corpus.ts";

/** What a Go member of memberlist 0.7.0 sent, recorded: layer by layer read, and written again. */
function rewritePacket(bytes: Uint8Array): Buffer {
  switch (bytes[0]) {
    case messageType.crc: {
      const inside = rewritePacket(bytes.subarray(5));
      const head = Buffer.alloc(5);
      head[0] = messageType.crc;
      head.writeUInt32BE(crc32(inside), 1);
      return Buffer.concat([head, inside]);
    }
    case messageType.compress:
      return compressMessage(rewritePacket(expandMessage(bytes.subarray(1), 1 << 20)));
    case messageType.compound:
      return Buffer.from(makeCompounds(splitCompound(bytes.subarray(1)).parts.map(rewritePacket))[0] as Uint8Array);
    default:
      return rewriteMessage(bytes);
  }
}

/** We leave out the payload of an acknowledgement of nothing, where Go writes nil. */
function rewriteMessage(bytes: Uint8Array): Buffer {
  const message = decodePacketMessage(bytes);
  const ours = encodePacketMessage(message);
  if (message.type !== "ack" || message.payload !== null) return ours;
  return Buffer.concat([ours.subarray(0, 1), Buffer.of(0x82, 0xa7), Buffer.from("Payload"), Buffer.of(0xc0), ours.subarray(2)]);
}

function rewriteStream(bytes: Uint8Array, label: string): Buffer {
  const message = new StreamReader({ label, keys: [] }, false).push(bytes);
  if (!message) throw new Error("the recorded stream is cut off");
  const compress = bytes[labelHeader(label).length] === messageType.compress;
  return Buffer.from(sealStream(message, { label, keys: [], compress, dialled: true }, simRandom(1)));
}

const recorded = ["packet", "stream", "push-pull", "label"].flatMap((decoder) => [...readNamedCorpus(decoder)]);
const ofGo = recorded.filter(([name]) => name.startsWith("go-"));

test("there are records of packets and streams, plain, compressed and labelled", () => {
  for (const kind of ["plain", "compressed", "labelled"])
    expect(ofGo.filter(([name]) => name.startsWith(`go-${kind}`)).length).toBeGreaterThan(5);
});

test.each(ofGo)("%s is written as Go wrote it, byte by byte, but for nil payloads", (name, bytes) => {
  const label = name.startsWith("go-labelled") ? "blue" : "";
  const again = name.includes("-stream-")
    ? rewriteStream(bytes, label)
    : Buffer.concat([labelHeader(label), rewritePacket(stripLabel(bytes, label) ?? new Uint8Array())]);
  expect(again.toString("hex")).toBe(Buffer.from(bytes).toString("hex"));
});
