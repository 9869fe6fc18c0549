import { type ByteString, CodedError } from "../../base/index.ts";

const maxBytes = 1024;

/** A revision that git may be asked for. Errors: `invalid_argument` for one that is empty or could be read as anything but a name. */
export function checkRevision(revision: Uint8Array): ByteString {
  const text = Buffer.from(revision.buffer, revision.byteOffset, revision.byteLength).toString("latin1");
  const problem = problemWith(text);
  if (problem) throw new CodedError("invalid_argument", problem, { revision: text.slice(0, 200) });
  return text;
}

function problemWith(revision: ByteString): string | undefined {
  if (revision === "") return "empty revision";
  if (revision.length > maxBytes) return "revision is too long";
  if (revision.startsWith("-")) return "revision can't start with '-'";
  if (revision.includes("\0")) return "revision can't contain NUL";
  if (/[ \t\n\v\f\r]/.test(revision)) return "revision can't contain whitespace";
  if (revision.includes(":")) return "revision can't contain ':'";
  if (revision.includes("\\")) return "revision can't contain '\\'";
  return undefined;
}
