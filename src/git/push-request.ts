import { type ByteString, CodedError } from "../base/index.ts";
import type { PktReader } from "./pkt-line.ts";
import { oidLength } from "./ref-advertisement.ts";
import type { RepositoryView } from "./repository-view.ts";

/** One line of a push: what the client wants to happen to one ref. */
export interface RefChange {
  readonly ref: ByteString;
  readonly oldOid: string;
  readonly newOid: string;
}

/** Everything a push says before its pack. */
export interface PushRequest {
  readonly changes: readonly RefChange[];
  readonly capabilities: ReadonlySet<string>;
  /** Undefined where the client did not say. */
  readonly objectFormat: string | undefined;
  readonly shallowOids: readonly string[];
  readonly pushOptions: readonly ByteString[];
}

const maxChanges = 100_000;
const maxPushOptions = 1000;
/** So much that the answer about a ref always fits into a packet. */
const maxRefBytes = 8192;

/** Reads a push up to its pack; undefined where the client only asks whether it may push. Errors: `protocol_error`, `limit_exceeded`. */
export async function readPushRequest(reader: PktReader, objectFormat: RepositoryView["objectFormat"]): Promise<PushRequest | undefined> {
  const changes: RefChange[] = [];
  const shallowOids: string[] = [];
  let capabilities: ReadonlySet<string> | undefined;
  // A client of the other format still gets a readable refusal, so ids of either length are read.
  for (;;) {
    const pkt = await reader.next();
    if (!pkt) {
      if (changes.length === 0 && shallowOids.length === 0) return undefined;
      throw new CodedError("protocol_error", "push ends inside its commands");
    }
    if (pkt.type === "flush") break;
    if (pkt.type !== "data") throw new CodedError("protocol_error", "unexpected packet in push commands");
    const nul = capabilities ? -1 : pkt.payload.indexOf(0);
    const line = pkt.payload.toString("latin1", 0, nul < 0 ? pkt.payload.length : nul).replace(/\n$/, "");
    const shallow = /^shallow ([0-9a-f]{40}|[0-9a-f]{64})$/.exec(line);
    if (shallow) shallowOids.push(shallow[1] ?? "");
    else {
      changes.push(parseChange(line));
      capabilities ??= new Set(
        nul < 0
          ? []
          : pkt.payload
              .toString("latin1", nul + 1)
              .trim()
              .split(" "),
      );
    }
    if (changes.length + shallowOids.length > maxChanges) {
      throw new CodedError("limit_exceeded", "push changes too many refs", { maxChanges });
    }
  }
  if (changes.length === 0) return undefined;
  const known = capabilities ?? new Set<string>();
  const pushOptions = known.has("push-options") ? await readPushOptions(reader) : [];
  const said = [...known].find((word) => word.startsWith("object-format="))?.slice("object-format=".length);
  const wrongLength = changes.some((change) => change.oldOid.length !== oidLength(objectFormat));
  const format = said ?? (wrongLength ? "another one" : undefined);
  return { changes, capabilities: known, objectFormat: format, shallowOids, pushOptions };
}

function parseChange(line: string): RefChange {
  const match = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/s.exec(line);
  const [, oldOid = "", newOid = "", ref = ""] = match ?? [];
  if (ref === "" || ref.length > maxRefBytes || oldOid.length !== newOid.length)
    throw new CodedError("protocol_error", "malformed push command");
  return { ref, oldOid, newOid };
}

async function readPushOptions(reader: PktReader): Promise<ByteString[]> {
  const pushOptions: ByteString[] = [];
  for (;;) {
    const pkt = await reader.next();
    if (pkt?.type === "flush") return pushOptions;
    if (pkt?.type !== "data") throw new CodedError("protocol_error", "push ends inside its options");
    if (pushOptions.length >= maxPushOptions) throw new CodedError("limit_exceeded", "too many push options", { maxPushOptions });
    pushOptions.push(pkt.payload.toString("latin1").replace(/\n$/, ""));
  }
}
