import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where things lie below the directory that the nodes of a host share. */
export interface Layout {
  readonly root: string;
  /** PostgreSQL's own data directory. */
  readonly data: string;
  readonly passwordFile: string;
  /** The port of the last start, tried again, so that running nodes find a restarted server. */
  readonly portFile: string;
  readonly log: string;
  /** One file per attached node. */
  readonly attached: string;
}

/** The layout below `root`. */
export function layoutOf(root: string): Layout {
  return {
    root,
    data: join(root, "postgres"),
    passwordFile: join(root, "postgres.password"),
    portFile: join(root, "postgres.port"),
    log: join(root, "postgres.log"),
    attached: join(root, "attached"),
  };
}

/** What a running server says of itself in its pid file. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** The pid file of a data directory, whoever its process is; undefined where there is none or it is half written. */
export async function readPostmaster(layout: Layout): Promise<Postmaster | undefined> {
  const text = await readFile(join(layout.data, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number.isInteger(port) ? port : 0, ready: (lines[7] ?? "").trim() === "ready" };
}
