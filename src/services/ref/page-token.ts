import type { ByteString } from "../../base/index.ts";

/**
 * A ref name as a page token. The token is text and a ref name bytes: a name that is not UTF-8 travels in hexadecimal
 * behind a colon, which no ref name has.
 */
export function pageToken(name: ByteString): string {
  const bytes = Buffer.from(name, "latin1");
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : `:${bytes.toString("hex")}`;
}

/** The ref name behind a page token. */
export function pageTokenName(token: string): ByteString {
  return token.startsWith(":") ? Buffer.from(token.slice(1), "hex").toString("latin1") : Buffer.from(token, "utf8").toString("latin1");
}
