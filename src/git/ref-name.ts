import type { ByteString } from "../base/index.ts";

const maxBytes = 1000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what git forbids
const forbidden = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$|^\//;

/** Git's rules for the name of a ref below `refs/`, with at least one more `/` unless `oneLevel`. */
export function isRefName(name: ByteString, oneLevel: boolean): boolean {
  if (!name.startsWith("refs/") || name.length > maxBytes || forbidden.test(name)) return false;
  const parts = name.slice("refs/".length).split("/");
  if (parts.length < 2 && !oneLevel) return false;
  return parts.every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}
