import type { ByteString } from "../base/index.ts";

const maxBytes = 4096;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the rule is about control characters
const forbidden = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$/;

/** Git's rule for full reference names (`refs/…`), on bytes. */
export function isRefName(name: ByteString): boolean {
  return name.startsWith("refs/") && name.length <= maxBytes && !forbidden.test(name);
}
