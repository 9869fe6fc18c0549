import type { ServerInfoResponse } from "../../proto/gen/gitaly/ServerInfoResponse.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** ServerInfo: versions, and whether the storage can be read and written. */
export function serverInfo(deps: Pick<ServicesDeps, "node" | "git" | "storage" | "storageName" | "view">) {
  return async (): Promise<ServerInfoResponse> => {
    const { state } = deps.storage.health;
    return {
      serverVersion: deps.node.version,
      gitVersion: deps.git.version,
      storageStatuses: [
        {
          storageName: deps.storageName,
          readable: state === "proven" || state === "read_only",
          writeable: state === "proven",
          fsType: "object-storage",
          filesystemId: deps.node.clusterId(),
          replicationFactor: deps.view().ring.replicas,
        },
      ],
    };
  };
}
