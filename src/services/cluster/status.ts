import type { StatusResponse } from "../../proto/gen/gitaly_gossip/v1/StatusResponse.ts";
import type { NodeCheck, ServicesDeps } from "../services-deps.ts";

/** Status: how this node is, from what it knows already. */
export function status(deps: Pick<ServicesDeps, "node" | "view" | "storage" | "catalog" | "database" | "git" | "cache" | "clock">) {
  return async (): Promise<StatusResponse> => {
    const { node } = deps;
    const { members, ring } = deps.view();
    const { state, checks } = node.state();
    const places = node.places();
    const all = new Map<string, NodeCheck>([...ownChecks(deps), ...checks].map((check) => [check.name, check]));
    return {
      node: node.name,
      clusterId: node.clusterId(),
      state,
      version: node.version,
      gitVersion: deps.git.version,
      uptimeSeconds: String(Math.max(0, Math.floor((deps.clock.monotonic() - node.startedAtMs) / 1000))),
      ringFingerprint: ring.fingerprint,
      memberCount: members.length,
      siteCount: ring.sites.length,
      checks: [...all.values()],
      objectStorage: places.objectStorage,
      database: places.database,
      cacheBytes: String(deps.cache.sizeBytes),
    };
  };
}

function ownChecks({ storage, catalog, database }: Pick<ServicesDeps, "storage" | "catalog" | "database">): NodeCheck[] {
  const store = storage.health;
  const storeOk = store.state === "proven" && !store.trouble;
  const storeMessage = store.message || store.trouble || `the object store is ${store.state}`;
  return [
    { name: "object_storage", ok: storeOk, message: storeOk ? "" : storeMessage },
    { name: "database", ok: catalog.health.ok, message: catalog.health.ok ? "" : catalog.health.message },
    ...discoveryCheck(database()),
  ];
}

/** Only where there is discovery. */
function discoveryCheck(view: ReturnType<ServicesDeps["database"]>): NodeCheck[] {
  if (view?.discoveryAgeMs === undefined) return [];
  const minutes = Math.floor(view.discoveryAgeMs / 60_000);
  const message = `the database's servers have not been looked up for ${minutes} minutes; the last known list is used`;
  return [{ name: "database_discovery", ok: !view.discoveryStale, message: view.discoveryStale ? message : "" }];
}
