import type { GitService } from "./git.ts";
import { encodePkt, encodePktString } from "./pkt-line.ts";
import type { RefView, RepositoryView } from "./repository-view.ts";

/** Which version of the protocol a request speaks: 0 where the client did not say or said something else. */
export function protocolVersion(gitProtocol: string): 0 | 1 | 2 {
  return gitProtocol === "version=2" ? 2 : gitProtocol === "version=1" ? 1 : 0;
}

const chunkBytes = 131_072;
const uploadPackCapabilities =
  "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative no-progress include-tag " +
  "multi_ack_detailed allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done filter";
const receivePackCapabilities = "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-options";

/** Bodies are kept for as long as the refs they were made from. */
const cache = new WeakMap<RefView, Map<string, Buffer>>();

/** The body of `info/refs`, in pieces of at most 128 KiB. */
export function* advertiseRefs(
  view: RepositoryView,
  service: GitService,
  gitProtocol: string,
  agent: string,
): Generator<Uint8Array, void, undefined> {
  const version = protocolVersion(gitProtocol);
  const key = [service, version, view.head, view.objectFormat, agent].join("\0");
  const known = cache.get(view.refs) ?? new Map<string, Buffer>();
  cache.set(view.refs, known);
  let body = known.get(key);
  if (!body) {
    body = Buffer.from(`${encodePktString(`# service=${service}\n`)}0000${advertisement(view, service, version, agent)}`, "latin1");
    known.set(key, body);
  }
  for (let offset = 0; offset < body.length; offset += chunkBytes) yield body.subarray(offset, offset + chunkBytes);
}

function advertisement(view: RepositoryView, service: GitService, version: 0 | 1 | 2, agent: string): string {
  const upload = service === "git-upload-pack";
  if (version === 2 && upload) return capabilitiesV2(view, agent);
  const lines = upload ? uploadPackLines(view) : [...view.refs.withPrefix("")].map((ref) => `${ref.oid} ${ref.name}`);
  const symref = upload && view.refs.get(view.head) ? ` symref=HEAD:${view.head}` : "";
  const capabilities = `${upload ? uploadPackCapabilities : receivePackCapabilities}${symref} object-format=${view.objectFormat} agent=${agent}`;
  const first = lines.shift() ?? `${zeroOid(view.objectFormat)} capabilities^{}`;
  const body = [version === 1 ? encodePktString("version 1\n") : "", encodePktString(`${first}\0${capabilities}\n`)];
  for (const line of lines) body.push(encodePktString(`${line}\n`));
  return `${body.join("")}0000`;
}

function uploadPackLines(view: RepositoryView): string[] {
  const lines: string[] = [];
  const head = view.refs.get(view.head);
  if (head) lines.push(`${head.oid} HEAD`);
  for (const { name, oid, peeled } of view.refs.withPrefix("")) {
    lines.push(`${oid} ${name}`);
    if (peeled) lines.push(`${peeled} ${name}^{}`);
  }
  return lines;
}

function capabilitiesV2(view: RepositoryView, agent: string): string {
  const lines = [
    "version 2",
    `agent=${agent}`,
    "ls-refs=unborn",
    "fetch=shallow wait-for-done filter",
    "server-option",
    `object-format=${view.objectFormat}`,
    "object-info",
  ];
  return `${lines.map((line) => encodePkt(`${line}\n`).toString("latin1")).join("")}0000`;
}

function zeroOid(objectFormat: RepositoryView["objectFormat"]): string {
  return "0".repeat(oidLength(objectFormat));
}

/** Hex digits of an object id. */
export function oidLength(objectFormat: RepositoryView["objectFormat"]): number {
  return objectFormat === "sha1" ? 40 : 64;
}
