import { lzwDecode, lzwEncode } from "./lzw.ts";
import { messageType } from "./message.ts";
import { MsgpackReader } from "./msgpack-reader.ts";
import { encodeKey, MsgpackWriter } from "./msgpack-writer.ts";
import { protocolError } from "./protocol-error.ts";
import { Schema } from "./schema.ts";

const lzwAlgorithm = 0;
const schema = new Schema(["Algo", "Buf"]);
const algoKey = encodeKey("Algo");
const bufKey = encodeKey("Buf");
/** Type byte, struct, the keys, the algorithm, and the length in front of the compressed bytes, at least. */
const wrapperBytes = 13;

const writer = new MsgpackWriter();

/** Wraps a message in a compressed one. */
export function compressMessage(message: Uint8Array): Buffer {
  return wrap(lzwEncode(message));
}

// Nothing that members say was ever seen to shrink below these, and trying costs more than all the rest of a packet.
const shrinkableBytes = 140;
const shrinkableCompoundBytes = 80;

/** As {@link compressMessage}; undefined where the result would not be smaller. */
export function shrinkMessage(message: Uint8Array): Buffer | undefined {
  if (message.length < (message[0] === messageType.compound ? shrinkableCompoundBytes : shrinkableBytes)) return undefined;
  const compressed = lzwEncode(message, message.length - wrapperBytes - 1);
  const wrapped = compressed && wrap(compressed);
  return wrapped && wrapped.length < message.length ? wrapped : undefined;
}

function wrap(compressed: Uint8Array): Buffer {
  writer.start();
  writer.byte(messageType.compress);
  writer.struct(2);
  writer.key(algoKey);
  writer.unsigned(lzwAlgorithm);
  writer.key(bufKey);
  writer.bytes(compressed);
  return writer.finish();
}

/** The message inside; `body` starts behind the type byte. Throws IncompleteError where `body` ends early. Errors: `protocol_error`. */
export function expandMessage(body: Uint8Array, maxBytes: number): Buffer {
  const fields = new MsgpackReader(body).struct(schema);
  const algorithm = fields.unsigned("Algo", 255);
  if (algorithm !== lzwAlgorithm) throw protocolError("an unknown compression", { algorithm });
  const message = lzwDecode(fields.view("Buf"), maxBytes);
  if (message.length === 0) throw protocolError("a compressed message is empty");
  return message;
}
