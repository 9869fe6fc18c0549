import { CodedError } from "../../base/index.ts";

/** Where a server is. `url` holds the password: it goes to the driver and nowhere else. */
export interface ServerAddress {
  readonly url: string;
  /** HOST:PORT, without credentials. */
  readonly name: string;
}

/** Which of several servers a URL means, in libpq's words. */
type TargetSessionAttrs = (typeof targets)[number];

/** What a connection URL says: one server or several, which share everything but the address. */
export interface ConnectionTarget {
  readonly servers: readonly ServerAddress[];
  /** Default "any". */
  readonly target: TargetSessionAttrs;
}

const targets = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"] as const;
const maxServers = 256;

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?target_session_attrs=…`.
 * Errors: `bad_config`, never with the text itself, since that may hold a password.
 */
export function parseConnectionUrl(text: string, key: string): ConnectionTarget {
  const [, scheme, authority, rest] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) throw notAUrl(key);
  const at = authority.lastIndexOf("@") + 1;
  const hosts = authority.slice(at).split(",");
  if (hosts.length > maxServers) throw new CodedError("bad_config", "too many servers in one URL", { key, maxServers });
  let target: string | null = null;
  const servers = hosts.map((host) => {
    const url = parseUrl(`${scheme}${authority.slice(0, at)}${host}${rest}`, key);
    if (hosts.length > 1 && host === "") throw notAUrl(key);
    target = url.searchParams.get("target_session_attrs");
    if (url.searchParams.has("target_session_attrs")) url.searchParams.delete("target_session_attrs");
    return addressOf(url, key);
  });
  const found = targets.find((one) => one === (target ?? "any"));
  if (!found) throw new CodedError("bad_config", "an unknown target_session_attrs", { key, allowed: targets });
  return { servers: distinctByName(servers), target: found };
}

/**
 * Checks the URL of one server. `text` may also be a bare `HOST` or `HOST:PORT`, which takes the rest from `like`.
 * Errors: `bad_config`, as above.
 */
export function parseServerAddress(text: string, key: string, like?: ServerAddress): ServerAddress {
  if (text.includes("://") || !like) {
    const { servers } = parseConnectionUrl(text, key);
    const [server] = servers;
    if (!server || servers.length > 1)
      throw new CodedError("bad_config", "one server per URL; list several servers as several URLs", { key });
    return server;
  }
  const url = new URL(like.url);
  const parsed = parseUrl(`postgres://${text}`, key);
  if (parsed.pathname !== "" || parsed.username !== "" || parsed.hostname === "") throw notAUrl(key);
  url.hostname = parsed.hostname;
  if (parsed.port) url.port = parsed.port;
  return addressOf(url, key);
}

function parseUrl(text: string, key: string): URL {
  try {
    return new URL(text);
  } catch {
    throw notAUrl(key);
  }
}

function addressOf(url: URL, key: string): ServerAddress {
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") {
    throw new CodedError("bad_config", "a PostgreSQL connection URL starts with postgres://", { key, protocol: url.protocol });
  }
  const host = url.hostname || url.searchParams.get("host") || "localhost";
  if (host.includes(","))
    throw new CodedError("bad_config", "several servers go before the database's name: //HOST:PORT,HOST:PORT/", { key });
  return { url: url.href, name: `${host}:${url.port || url.searchParams.get("port") || "5432"}` };
}

function distinctByName(servers: readonly ServerAddress[]): ServerAddress[] {
  return [...new Map(servers.map((server) => [server.name, server])).values()];
}

function notAUrl(key: string): CodedError {
  return new CodedError("bad_config", "not a PostgreSQL connection URL: postgres://USER@HOST:PORT/DATABASE", { key });
}
