import { CodedError } from "../../base/index.ts";
import type { ListRepositoriesRequest__Output } from "../../proto/gen/gitaly_gossip/v1/ListRepositoriesRequest.ts";
import type { ListRepositoriesResponse } from "../../proto/gen/gitaly_gossip/v1/ListRepositoriesResponse.ts";
import type { CallContext } from "../../rpc/index.ts";
import { CallerConsistency } from "../caller-consistency.ts";
import { chunked } from "../chunked.ts";
import type { ServicesDeps } from "../services-deps.ts";
import { repositoryInfo } from "./repository-info.ts";

const pageSize = 1000;
const maxTextBytes = 1024;
/** More than everything but path and branch takes on the wire. */
const infoOverheadBytes = 256;

/** ListRepositories: from the catalog, in byte order of the paths; fails where the database does. A limit of 0 lists all. */
export function listRepositories(deps: Pick<ServicesDeps, "catalog" | "view" | "smartHttp" | "clock">) {
  return async function* (request: ListRepositoriesRequest__Output, call: CallContext): AsyncGenerator<ListRepositoriesResponse> {
    const prefix = checkText("prefix", request.prefix);
    let after = checkText("page_token", request.paginationParams?.pageToken ?? "");
    const limit = request.paginationParams?.limit ?? 0;
    let left = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    const consistency = new CallerConsistency(deps, call);
    for (let more = true; more && left > 0; ) {
      // One more than is sent tells whether there is a next page.
      const wanted = Math.min(left, pageSize - 1);
      const found = await deps.catalog.list({ prefix, after, limit: wanted + 1 }, call.signal, consistency.caller);
      const entries = found.slice(0, wanted);
      more = found.length > entries.length;
      left -= entries.length;
      after = entries.at(-1)?.path ?? after;
      yield* messages(
        entries.map((entry) => repositoryInfo(entry, deps.view().ring.replicas)),
        more && left === 0 ? after : "",
      );
    }
    consistency.answer();
  };
}

function* messages(infos: readonly ReturnType<typeof repositoryInfo>[], nextCursor: string): Generator<ListRepositoriesResponse> {
  let remaining = infos.length;
  const sizeOf = (info: ReturnType<typeof repositoryInfo>) => 3 * info.relativePath.length + info.defaultBranch.length + infoOverheadBytes;
  for (const repositories of chunked(infos, sizeOf)) {
    remaining -= repositories.length;
    yield { repositories, ...(remaining === 0 && nextCursor !== "" ? { paginationCursor: { nextCursor } } : {}) };
  }
}

function checkText(field: string, text: string): string {
  if (Buffer.byteLength(text) > maxTextBytes || text.includes("\0") || !text.isWellFormed()) {
    throw new CodedError("invalid_argument", "prefix and page_token are text of at most 1024 bytes", { field });
  }
  return text;
}
