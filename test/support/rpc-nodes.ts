import { systemClock, systemRandom } from "../../src/base/index.ts";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../../src/observability/index.ts";
import { Ring } from "../../src/ring/index.ts";
import type { MemberInfo, MemberView } from "../../src/routing/index.ts";
import { createRpcServer, type NodeState, type RpcOptions, type RpcServer, type ServiceMap } from "../../src/rpc/index.ts";

/** One node with a real gRPC server and whatever view of the cluster a test gives it. */
interface RpcNode {
  readonly name: string;
  readonly server: RpcServer;
  /** HOST:PORT */
  readonly address: string;
  /** Methods whose handler started, in order. */
  readonly handled: string[];
  view: MemberView;
  state: NodeState;
}

export interface RpcNodes extends AsyncDisposable {
  readonly nodes: readonly RpcNode[];
  /** A relative path whose owners are exactly these nodes, in order, for the views that all nodes share at the start. */
  pathOwnedBy(...names: string[]): string;
}

/** Starts nodes n1, n2, … on free ports; all see all as ready. */
export async function startRpcNodes(
  count: number,
  services: (name: string) => ServiceMap,
  options: { replicas?: number; rpc?: Partial<RpcOptions>; metrics?: Metrics; logger?: Logger } = {},
): Promise<RpcNodes> {
  const names = Array.from({ length: count }, (_, i) => `n${i + 1}`);
  const ring = new Ring(
    names.map((name) => ({ name, weight: 1 })),
    { replicas: options.replicas ?? 1 },
  );
  const nodes: RpcNode[] = [];
  for (const name of names) nodes.push(await startNode(name, services(name), ring, options));
  const members = nodes.map(({ name, address }) => memberOf(name, address));
  for (const node of nodes) node.view = { self: node.name, members, ring };
  return {
    nodes,
    pathOwnedBy: (...owners) => {
      for (let i = 0; ; i++) {
        const path = `group/project-${i}.git`;
        const found = ring.owners(`default\0${path}`, owners.length).map((site) => site.name);
        if (found.join() === owners.join()) return path;
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(nodes.map(({ server }) => server.destroy()));
    },
  };
}

/** A ready member at an address. */
export function memberOf(name: string, grpcAddress: string): MemberInfo {
  return {
    name,
    status: "ready",
    grpcAddress,
    grpcTls: false,
    httpUrl: "",
    gossipAddress: "",
    weight: 1,
    zone: "",
    version: "test",
  };
}

async function startNode(
  name: string,
  services: ServiceMap,
  ring: Ring,
  options: { rpc?: Partial<RpcOptions>; metrics?: Metrics; logger?: Logger },
): Promise<RpcNode> {
  const handled: string[] = [];
  const node: { view: MemberView; state: NodeState } = { view: { self: name, members: [], ring }, state: { state: "ready" } };
  const server = await createRpcServer(options.rpc ?? {}, {
    services: recorded(services, handled),
    logger: options.logger ?? silentLogger,
    metrics: options.metrics ?? noMetrics,
    clock: systemClock,
    random: systemRandom,
    view: () => node.view,
    replicasOf: () => undefined,
    nodeName: name,
    storageName: "default",
    state: () => node.state,
  });
  const { host, port } = await server.listen({ host: "127.0.0.1", port: 0 });
  return Object.assign(node, { name, server, address: `${host}:${port}`, handled });
}

function recorded(services: ServiceMap, handled: string[]): ServiceMap {
  const entries = Object.entries(services).map(([service, handlers]) => {
    const wrapped = Object.entries(handlers).map(([method, handler]) => {
      const run = handler as (request: never, call: never) => object;
      return [
        method,
        (request: never, call: never) => {
          handled.push(method);
          return run(request, call);
        },
      ] as const;
    });
    return [service, Object.fromEntries(wrapped)] as const;
  });
  return Object.fromEntries(entries) as ServiceMap;
}
