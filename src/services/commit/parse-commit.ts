import type { CommitAuthor } from "../../proto/gen/gitaly/CommitAuthor.ts";
import type { GitCommit } from "../../proto/gen/gitaly/GitCommit.ts";
import type { SignatureType } from "../../proto/gen/gitaly/SignatureType.ts";
import { objectHeaders } from "./object-headers.ts";
import { parsePerson } from "./parse-person.ts";
import { parseTrailers } from "./parse-trailers.ts";

/** Bodies above this are left out. */
const maxBodyBytes = 10 * 1024;
/** What Gitaly's clients get for a date that is none: the last moment its own time type knows. */
const brokenDateSeconds = "9223371974719179007";

const signatureTypes: Readonly<Record<string, SignatureType>> = {
  "-----BEGIN PGP SIGNATURE-----": "PGP",
  "-----BEGIN PGP MESSAGE-----": "PGP",
  "-----BEGIN SIGNED MESSAGE-----": "X509",
  "-----BEGIN SSH SIGNATURE-----": "SSH",
};

/**
 * A commit object as Gitaly's message. Text stays the bytes it is in the object; `body` is the whole message and `subject`
 * its first line, as Gitaly's clients know them. Broken commits give what can be read of them.
 */
export function parseCommit(oid: string, content: Uint8Array, options: { trailers: boolean }): GitCommit {
  const headers = objectHeaders(content);
  const { message } = headers;
  const signature = headers.first("gpgsig") ?? headers.first("gpgsig-sha256");
  return {
    id: oid,
    subject: bytes(firstLine(message)),
    body: bytes(message.length > maxBodyBytes ? "" : message),
    bodySize: String(message.length),
    author: person(headers.first("author")),
    committer: person(headers.first("committer")),
    parentIds: [...headers.all("parent")],
    treeId: headers.first("tree") ?? "",
    signatureType: (signature !== undefined && signatureTypes[firstLine(signature)]) || "NONE",
    encoding: Buffer.from(headers.first("encoding") ?? "", "latin1").toString("utf8"),
    trailers: options.trailers ? parseTrailers(message).map(({ key, value }) => ({ key: bytes(key), value: bytes(value) })) : [],
  };
}

function person(line: string | undefined): CommitAuthor | null {
  if (line === undefined) return null;
  const { name, email, seconds, timezone } = parsePerson(line);
  return {
    name: bytes(name),
    email: bytes(email),
    date: seconds === undefined ? null : { seconds: Number.isNaN(seconds) ? brokenDateSeconds : String(seconds), nanos: 0 },
    timezone: bytes(timezone),
  };
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return (end === -1 ? text : text.slice(0, end)).replace(/\r+$/, "");
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
