import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { type Clock, hostPort, type Random } from "../base/index.ts";
import type { Config, ListenAddress } from "../config/index.ts";
import type { LoadBalancer } from "../db/index.ts";
import { createGateway, type Gateway } from "../gateway/index.ts";
import type { Logger, MetricsRegistry } from "../observability/index.ts";
import type { MemberView } from "../routing/index.ts";
import { createRpcServer, type RpcServer } from "../rpc/index.ts";
import { createServices, type ServicesDeps, tokenAfterChange } from "../services/index.ts";
import { type CloseStack, disposeAsync } from "./close-stack.ts";
import { listenOnFree, type WantedAddress } from "./free-port.ts";
import type { KeptPorts } from "./kept-addresses.ts";
import type { Late } from "./late.ts";
import { openMetricsListener } from "./metrics-listener.ts";
import type { NodeStatus } from "./node-status.ts";
import { reachableHost } from "./reachable-host.ts";
import { addRoleRoutes } from "./role-routes.ts";

interface ListenersDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly closing: CloseStack;
  readonly services: ServicesDeps;
  readonly status: NodeStatus;
  readonly view: () => MemberView;
  readonly database: Late<LoadBalancer>;
}

/** The node's two doors, accepting. */
export interface Listeners {
  readonly rpc: RpcServer;
  readonly gateway: Gateway;
  /** HOST:PORT that peers and clients are told. */
  readonly grpcAddress: string;
  readonly httpAddress: string;
  readonly httpUrl: string;
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** The wanted address, on the port of an earlier start where none was named. */
export function wantedAddress(configured: ListenAddress, keptPort: number | undefined, avoid: ReadonlySet<number>): WantedAddress {
  const { host, port, explicit } = configured;
  if (explicit || keptPort === undefined || avoid.has(keptPort)) return { host, port, explicit };
  return { host, port: keptPort, explicit: false };
}

/** Finds the port that the gRPC listener will have, because the node's name may hang on it. */
export async function settleGrpcPort(wanted: WantedAddress, avoid: ReadonlySet<number>): Promise<number> {
  return listenOnFree("grpc", wanted, avoid, async (host, port) => {
    const server = createTcpServer();
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    const settled = (server.address() as AddressInfo).port;
    server.close();
    await once(server, "close");
    return settled;
  });
}

/** Opens both listeners. They accept at once; until the node is ready, calls about repositories are told to come again. */
export async function openListeners(
  config: Config,
  grpcPort: number,
  keptPorts: KeptPorts | undefined,
  avoid: ReadonlySet<number>,
  deps: ListenersDeps,
): Promise<Listeners> {
  const { closing, services, status, view, metrics, clock, random, logger } = deps;
  const replicasOf = (path: string) => services.catalog.replicasOf(path);
  const nodeName = services.node.name;

  const rpc = closing.use(
    "grpc",
    await createRpcServer(
      { unawareClients: config.routing.unawareClients },
      {
        ...{ clock, random, logger, metrics },
        services: createServices(services),
        view,
        replicasOf,
        nodeName,
        storageName: services.storageName,
        state: () => ({ state: status.state, reason: status.waitingFor }),
      },
    ),
    (server) => server.destroy(),
  );
  // "Any free port" still means any, should another program have taken the settled one since.
  const explicit = config.grpc.explicit && config.grpc.port !== 0;
  const grpc = await listenOnFree("grpc", { host: config.grpc.host, port: grpcPort, explicit }, avoid, (host, port) =>
    rpc.listen({ host, port }),
  );

  const gateway = closing.use(
    "http",
    await createGateway(
      { nodeName, http: config.routing.http, metricsRoute: config.prometheus === undefined },
      {
        ...{ clock, random, logger, metrics },
        smartHttp: services.smartHttp,
        consistency: (path, given, signal) => tokenAfterChange(services, path, given, signal),
        view,
        replicasOf,
        extraRoutes: (app) => addRoleRoutes(app, nodeName, deps.database, config.database.roleEndpoints),
        ready: () => ({ ready: status.state === "ready", reason: status.state === "warming" ? status.waitingFor : status.state }),
      },
    ),
    (server) => server.destroy(),
  );
  const http = await listenOnFree(
    "http",
    wantedAddress(config.http, keptPorts?.http, avoid),
    new Set([...avoid, grpc.port]),
    (host, port) => gateway.listen({ host, port }),
  );

  if (config.prometheus) closing.use("prometheus", await openMetricsListener(config.prometheus, metrics), disposeAsync);
  const advertised = (port: number, bound: string) => hostPort(config.advertiseHost ?? reachableHost(bound), port);
  return {
    rpc,
    gateway,
    grpcAddress: advertised(grpc.port, grpc.host),
    httpAddress: advertised(http.port, http.host),
    httpUrl: config.advertiseHttp?.replace(/\/+$/, "") ?? `http://${advertised(http.port, http.host)}`,
    grpcPort: grpc.port,
    httpPort: http.port,
  };
}
