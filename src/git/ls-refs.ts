import type { ByteString } from "../base/index.ts";
import { CodedError } from "../base/index.ts";
import { encodePktString, type PktReader } from "./pkt-line.ts";
import type { RefValue, RefView, RepositoryView } from "./repository-view.ts";

/** With more prefixes than this a client gets all refs, as from git itself. */
const maxPrefixes = 65_536;
const maxCachedAnswers = 8;

interface LsRefsRequest {
  readonly peel: boolean;
  readonly symrefs: boolean;
  readonly unborn: boolean;
  /** Empty: all refs. */
  readonly prefixes: readonly ByteString[];
}

const cache = new WeakMap<RefView, Map<string, Buffer>>();

/** Answers protocol v2's `ls-refs`; the reader stands behind the `command=` packet. Errors: `protocol_error` with the text for the client. */
export async function lsRefs(view: RepositoryView, reader: PktReader): Promise<Uint8Array> {
  const request = await readRequest(view, reader);
  const known = cache.get(view.refs) ?? new Map<string, Buffer>();
  cache.set(view.refs, known);
  const key = JSON.stringify([view.head, request]);
  let answer = known.get(key);
  if (!answer) {
    answer = Buffer.from(listing(view, request), "latin1");
    const oldest = known.size >= maxCachedAnswers ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    if (key.length < 4096) known.set(key, answer);
  }
  return answer;
}

async function readRequest(view: RepositoryView, reader: PktReader): Promise<LsRefsRequest> {
  const request = { peel: false, symrefs: false, unborn: false, prefixes: [] as ByteString[] };
  let inArguments = false;
  let tooMany = false;
  for (;;) {
    const pkt = await reader.next();
    if (!pkt || pkt.type === "response-end") throw new CodedError("protocol_error", "expected flush after ls-refs arguments");
    if (pkt.type === "flush") return tooMany ? { ...request, prefixes: [] } : { ...request, prefixes: disjoint(request.prefixes) };
    if (pkt.type === "delim") {
      inArguments = true;
      continue;
    }
    const line = pkt.payload.toString("latin1").replace(/\n$/, "");
    if (!inArguments) checkCapability(view, line);
    else if (line === "peel" || line === "symrefs" || line === "unborn") request[line] = true;
    else if (line.startsWith("ref-prefix ")) {
      if (request.prefixes.length < maxPrefixes) request.prefixes.push(line.slice("ref-prefix ".length));
      else tooMany = true;
    } else throw new CodedError("protocol_error", "unexpected line in ls-refs", { clientText: `unexpected line: '${line}'` });
  }
}

function checkCapability(view: RepositoryView, line: string): void {
  const format = line.startsWith("object-format=") ? line.slice("object-format=".length) : view.objectFormat;
  if (format === view.objectFormat) return;
  const clientText = `mismatched object format: server ${view.objectFormat}; client ${format}`;
  throw new CodedError("protocol_error", "mismatched object format", { clientText });
}

/** Sorted, without those that another one covers, so that their ranges neither overlap nor go back. */
function disjoint(prefixes: readonly ByteString[]): ByteString[] {
  const kept: ByteString[] = [];
  for (const prefix of [...prefixes].sort()) {
    const last = kept.at(-1);
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix);
  }
  return kept;
}

function listing(view: RepositoryView, request: LsRefsRequest): string {
  const prefixes = request.prefixes.length === 0 ? [""] : request.prefixes;
  const lines: string[] = [];
  if (prefixes.some((prefix) => "HEAD".startsWith(prefix))) {
    const head = view.refs.get(view.head);
    const target = request.symrefs ? ` symref-target:${view.head}` : "";
    if (head) lines.push(encodePktString(`${head.oid} HEAD${target}${peeledText(head, request)}\n`));
    else if (request.unborn && request.symrefs) lines.push(encodePktString(`unborn HEAD${target}\n`));
  }
  for (const prefix of prefixes) {
    for (const ref of view.refs.withPrefix(prefix)) {
      lines.push(encodePktString(`${ref.oid} ${ref.name}${peeledText(ref, request)}\n`));
    }
  }
  return `${lines.join("")}0000`;
}

function peeledText(ref: RefValue, request: LsRefsRequest): string {
  return request.peel && ref.peeled ? ` peeled:${ref.peeled}` : "";
}
