import { type LoadBalancer, type RoleEndpointOptions, roleEndpoints, rolePaths } from "../db/index.ts";
import type { GatewayDeps } from "../gateway/index.ts";
import type { Late } from "./late.ts";

/** Adds the database's role endpoints to the HTTP listener. Before the database is known, they say so with 503. */
export function addRoleRoutes(
  app: Parameters<NonNullable<GatewayDeps["extraRoutes"]>>[0],
  nodeName: string,
  database: Late<LoadBalancer>,
  options: RoleEndpointOptions,
): void {
  const handle = roleEndpoints(() => database.ifSet, options);
  for (const path of rolePaths) {
    app.all(path, (request, reply) => {
      reply.hijack();
      reply.raw.setHeader("Gitaly-Node", nodeName);
      handle(request.raw, reply.raw);
    });
  }
}
