import type { RouteRequest__Output } from "../../proto/gen/gitaly_gossip/v1/RouteRequest.ts";
import type { RouteResponse } from "../../proto/gen/gitaly_gossip/v1/RouteResponse.ts";
import { ringKey } from "../../routing/index.ts";
import { targetPath } from "../../rpc/index.ts";
import type { ServicesDeps } from "../services-deps.ts";

/** Route: who owns a repository, in order, and the numbers behind it. The repository need not exist. Its own k counts, or the cluster's: `gitaly-replicas` is for calls that are routed. */
export function route(deps: Pick<ServicesDeps, "view" | "catalog" | "storageName">) {
  return async (request: RouteRequest__Output): Promise<RouteResponse> => {
    const path = targetPath(request.repository, deps.storageName);
    const { members, ring } = deps.view();
    const replicas = deps.catalog.replicasOf(path) ?? ring.replicas;
    const { keyHash, owners } = ring.explain(ringKey(deps.storageName, path), replicas);
    const byName = new Map(members.map((member) => [member.name, member]));
    return {
      owners: owners.map(({ name, weight, cost, siteHash }) => {
        const member = byName.get(name);
        return {
          name,
          grpcAddress: member?.grpcAddress ?? "",
          httpUrl: member?.httpUrl ?? "",
          zone: member?.zone ?? "",
          weight,
          siteHash: hex64(siteHash),
          cost,
        };
      }),
      replicas,
      ringFingerprint: ring.fingerprint,
      repositoryHash: hex64(keyHash),
    };
  };
}

function hex64(value: bigint): string {
  return value.toString(16).padStart(16, "0");
}
