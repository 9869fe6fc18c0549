import type { ByteString } from "../base/index.ts";
import { encodePktString, flushPkt } from "./pkt-line.ts";
import type { PushRequest } from "./push-request.ts";
import { sideBand } from "./side-band.ts";

/** What became of each ref of a push. */
export interface PushOutcome {
  /** Undefined: the objects were taken. */
  readonly unpackError: string | undefined;
  /** In the order of the commands; `reason` is undefined where the ref moved. */
  readonly refs: readonly { readonly ref: ByteString; readonly reason: string | undefined }[];
}

/** The last bytes of a push's answer, as the client's capabilities want them. */
export function* pushReport(request: PushRequest, outcome: PushOutcome): Generator<Uint8Array, void, undefined> {
  const { capabilities } = request;
  const sideBanded = capabilities.has("side-band-64k");
  if (capabilities.has("report-status") || capabilities.has("report-status-v2")) {
    const lines = [`unpack ${oneLine(outcome.unpackError ?? "ok")}\n`];
    for (const { ref, reason } of outcome.refs) lines.push(reason === undefined ? `ok ${ref}\n` : `ng ${ref} ${oneLine(reason)}\n`);
    const report = Buffer.from(`${lines.map(encodePktString).join("")}0000`, "latin1");
    if (sideBanded) yield* sideBand(1, report);
    else yield report;
  }
  if (sideBanded) yield flushPkt;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 500);
}
