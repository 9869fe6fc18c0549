import protobuf from "protobufjs";

/** The fields of a message by number: another message's fields, or anything else. */
interface MessageFields {
  readonly [number: number]: MessageFields | "value";
}

const artifact: MessageFields = { 1: "value", 2: "value" };
const pack: MessageFields = { 1: artifact, 2: artifact, 3: artifact, 4: artifact, 5: "value" };
const pair: MessageFields = { 1: "value", 2: "value" };
const generation: MessageFields = {
  ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i + 1, "value"])),
  14: artifact,
  16: pack,
  17: pair,
  21: pair,
};

/**
 * Whether an encoded `Generation` holds a field that this version does not know. It would be lost in every generation written after it,
 * so such a record is for newer versions only. Throws the library's error on bytes that are not a message.
 */
export function hasUnknownField(bytes: Uint8Array): boolean {
  return scan(protobuf.Reader.create(bytes), bytes.length, generation);
}

function scan(reader: protobuf.Reader, end: number, fields: MessageFields): boolean {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = fields[tag >>> 3];
    if (field === undefined) return true;
    if (field === "value") reader.skipType(tag & 7);
    else if (scan(reader, reader.uint32() + reader.pos, field)) return true;
  }
  return false;
}
