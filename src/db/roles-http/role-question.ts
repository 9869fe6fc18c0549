/** What is asked about a server. */
export type RolePath = "/primary" | "/replica" | "/read-write" | "/read-only" | "/health";

export const rolePaths: readonly RolePath[] = ["/primary", "/replica", "/read-write", "/read-only", "/health"];

/** A limit on lag: bytes of the primary's log, or age. */
export type LagLimit = { readonly bytes: number } | { readonly ms: number };

/** A request, as far as it counts. */
export interface RoleQuestion {
  readonly path: RolePath;
  /** HOST:PORT; undefined: any server will do. */
  readonly server: string | undefined;
  readonly lag: LagLimit | undefined;
}

const scales: Readonly<Record<string, number>> = { "": 1, b: 1, kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30, tb: 2 ** 40 };
const times: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, m: 60_000, h: 3_600_000 };

/**
 * Reads a request's target. Undefined: none of these paths; `"bad_lag"`, `"bad_server"`: what is wrong with it.
 * A server without a port has PostgreSQL's, 5432.
 */
export function parseRoleQuestion(target: string): RoleQuestion | "bad_lag" | "bad_server" | undefined {
  const mark = target.indexOf("?");
  const path = rolePaths.find((one) => one === (mark < 0 ? target : target.slice(0, mark)));
  if (!path) return undefined;
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  const lag = query.get("lag");
  const limit = lag === null ? undefined : parseLagLimit(lag);
  if (lag !== null && !limit) return "bad_lag";
  const given = query.get("server");
  if (given === null) return { path, server: undefined, lag: limit };
  const server = serverName(given);
  return server === undefined ? "bad_server" : { path, server, lag: limit };
}

/** `16MB` (or `16777216`): bytes, in powers of 1024; `5s`, `500ms`, `1min`: time. Undefined where it is neither. */
export function parseLagLimit(text: string): LagLimit | undefined {
  const [, digits, unit = ""] = /^(\d{1,15})\s?([A-Za-z]*)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const name = unit.toLowerCase().replace("ib", "b");
  const scale = scales[name];
  if (scale !== undefined) return { bytes: Number(digits) * scale };
  const ms = times[name];
  return ms === undefined ? undefined : { ms: Number(digits) * ms };
}

function serverName(text: string): string | undefined {
  const [, host, port = "5432"] = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return host === undefined ? undefined : `${host.toLowerCase()}:${port}`;
}
