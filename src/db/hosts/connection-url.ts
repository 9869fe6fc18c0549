import { CodedError } from "../../base/index.ts";

/** Where a server is. `url` holds the password: it goes to the driver and nowhere else. */
export interface ServerAddress {
  readonly url: string;
  /** HOST:PORT, without credentials. */
  readonly name: string;
}

/**
 * Checks a connection URL. `text` may also be a bare `HOST` or `HOST:PORT`, which takes the rest from `like`.
 * Errors: `bad_config`, never with the text itself, since that may hold a password.
 */
export function parseServerAddress(text: string, key: string, like?: ServerAddress): ServerAddress {
  let url: URL;
  try {
    url = text.includes("://") || !like ? new URL(text) : besides(text, like);
  } catch {
    throw new CodedError("bad_config", "not a PostgreSQL connection URL; one server per URL: postgres://USER@HOST:PORT/DATABASE", { key });
  }
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") {
    throw new CodedError("bad_config", "a PostgreSQL connection URL starts with postgres://", { key, protocol: url.protocol });
  }
  const host = url.hostname || url.searchParams.get("host") || "localhost";
  if (host.includes(",")) throw new CodedError("bad_config", "one server per URL; list several servers as several URLs", { key });
  return { url: url.href, name: `${host}:${url.port || url.searchParams.get("port") || "5432"}` };
}

function besides(text: string, like: ServerAddress): URL {
  const url = new URL(like.url);
  const parsed = new URL(`postgres://${text}`);
  if (parsed.pathname !== "" || parsed.username !== "" || parsed.hostname === "") throw new TypeError("not HOST[:PORT]");
  url.hostname = parsed.hostname;
  if (parsed.port) url.port = parsed.port;
  return url;
}
