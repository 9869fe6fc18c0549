import { CodedError } from "../../base/index.ts";
import type { DatabaseStatusResponse } from "../../proto/gen/gitaly_gossip/v1/DatabaseStatusResponse.ts";
import type { DatabaseServerView, ServicesDeps } from "../services-deps.ts";

/** DatabaseStatus: which servers the database has, and what this node thinks of them. Asks none of them. */
export function databaseStatus(deps: Pick<ServicesDeps, "database">) {
  return async (): Promise<DatabaseStatusResponse> => {
    const view = deps.database();
    if (!view) throw new CodedError("database_unavailable", "this node has no database yet", {}, { retryAfterMs: 1000 });
    const { discoveryAgeMs } = view;
    return {
      servers: view.status.map(serverMessage),
      ...(discoveryAgeMs === undefined ? {} : { discoveryAgeSeconds: discoveryAgeMs / 1000 }),
    };
  };
}

function serverMessage({ host, role, usable, reason, lagBytes, lagSeconds, position, inRecovery, readOnly }: DatabaseServerView) {
  return {
    host,
    role,
    usable,
    reason,
    position: position ?? "",
    ...(lagBytes === null ? {} : { lagBytes: String(lagBytes) }),
    ...(lagSeconds === null ? {} : { lagSeconds }),
    ...(inRecovery === null ? {} : { inRecovery }),
    ...(readOnly === null ? {} : { readOnly }),
  };
}
