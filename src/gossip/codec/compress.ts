import { Fields } from "./fields.ts";
import { lzwDecode, lzwEncode } from "./lzw.ts";
import { messageType } from "./message.ts";
import { MsgpackReader } from "./msgpack-reader.ts";
import { encodeTyped } from "./packet-message.ts";
import { protocolError } from "./protocol-error.ts";

const lzwAlgorithm = 0;

/** Wraps a message in a compressed one. */
export function compressMessage(message: Uint8Array): Buffer {
  return encodeTyped(messageType.compress, { Algo: lzwAlgorithm, Buf: lzwEncode(message) });
}

/** The message inside; `body` starts behind the type byte. Throws IncompleteError where `body` ends early. Errors: `protocol_error`. */
export function expandMessage(body: Uint8Array, maxBytes: number): Buffer {
  const fields = new Fields(new MsgpackReader(body).struct(["Algo", "Buf"]));
  const algorithm = fields.unsigned("Algo", 255);
  if (algorithm !== lzwAlgorithm) throw protocolError("an unknown compression", { algorithm });
  const message = lzwDecode(fields.bytes("Buf"), maxBytes);
  if (message.length === 0) throw protocolError("a compressed message is empty");
  return message;
}
