import { statfs } from "node:fs/promises";
import { CodedError } from "../../base/index.ts";
import type { DiskStatisticsResponse } from "../../proto/gen/gitaly/DiskStatisticsResponse.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** DiskStatistics: free and used bytes of the disk that holds this node's cache. */
export function diskStatistics(deps: Pick<ServicesDeps, "cacheDir" | "storageName">) {
  return async (): Promise<DiskStatisticsResponse> => {
    const disk = await statfs(deps.cacheDir, { bigint: true }).catch((cause: unknown) => {
      throw new CodedError("internal", "the disk of the cache cannot be looked at", {}, { cause });
    });
    return {
      storageStatuses: [
        {
          storageName: deps.storageName,
          available: String(disk.bavail * disk.bsize),
          used: String((disk.blocks - disk.bfree) * disk.bsize),
        },
      ],
    };
  };
}
