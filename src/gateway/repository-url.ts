import { CodedError, checkRelativePath } from "../base/index.ts";

/** Which of git's requests a URL is. */
type GitRoute = "info/refs" | "git-upload-pack" | "git-receive-pack";

/** A request on a repository, as its raw URL says. */
export interface RepositoryUrl {
  readonly route: GitRoute;
  /** Checked relative path of the repository. */
  readonly path: string;
  /** What stands after `?`, undecoded. */
  readonly query: string;
  /** Another node sent the client here: it is served, whatever this node thinks. */
  readonly redirected: boolean;
}

const routes: readonly GitRoute[] = ["info/refs", "git-upload-pack", "git-receive-pack"];
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Stands before the path in the URL of a redirect. git keeps a prefix of the path for all its later requests, while it refuses
 * a redirect whose query differs; so the mark that ends a chain of redirects is part of the path. A repository whose own path
 * begins like this is reached with the mark before it, or with its first character percent-encoded.
 */
const redirectMark = "-/hop/1/";

/** Reads a raw request target. Undefined where it is none of git's requests. Errors: `invalid_path`. */
export function parseRepositoryUrl(target: string): RepositoryUrl | undefined {
  const { rawPath, query } = splitTarget(target);
  const route = routes.find((candidate) => rawPath.endsWith(`/${candidate}`));
  if (route === undefined || !rawPath.startsWith("/")) return undefined;
  const rest = rawPath.slice(1, Math.max(1, rawPath.length - route.length - 1));
  const redirected = rest.startsWith(redirectMark);
  return { route, path: decodePath(redirected ? rest.slice(redirectMark.length) : rest), query, redirected };
}

/** The URL of a repository's `info/refs` on the node at `baseUrl`, marked as the one redirect a client is sent through. */
export function redirectUrl(baseUrl: string, path: string, query: string): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `${baseUrl.replace(/\/+$/, "")}/${redirectMark}${encoded}/info/refs?${query}`;
}

/** Proxies send the whole URL as target; what comes before its path says nothing here. */
function splitTarget(target: string): { rawPath: string; query: string } {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { rawPath: local, query: "" } : { rawPath: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** Percent-decodes exactly once. The parser hands bytes over as latin1. */
function decodePath(raw: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < raw.length; i++) {
    if (raw[i] !== "%") {
      bytes.push(raw.charCodeAt(i) & 255);
      continue;
    }
    const digits = raw.slice(i + 1, i + 3);
    if (!/^[0-9a-fA-F]{2}$/.test(digits)) throw new CodedError("invalid_path", "URL has a malformed percent escape");
    const byte = Number.parseInt(digits, 16);
    if (byte === 0x2f) throw new CodedError("invalid_path", "URL has an encoded slash");
    bytes.push(byte);
    i += 2;
  }
  let path: string;
  try {
    path = utf8.decode(Uint8Array.from(bytes));
  } catch {
    throw new CodedError("invalid_path", "relative path is not valid UTF-8");
  }
  return checkRelativePath(path);
}
