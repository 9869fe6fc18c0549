import { systemClock } from "../../src/base/index.ts";
import { createGateway, type Gateway, type GatewayDeps, type GatewayOptions } from "../../src/gateway/index.ts";
import { createMetrics, silentLogger } from "../../src/observability/index.ts";
import type { SmartHttp } from "../../src/services/index.ts";
import { memberInfo, memberView } from "./member-view.ts";

/** A gateway that owns everything, unless `deps` says otherwise, and does not listen yet. */
export function makeGateway(
  smartHttp: SmartHttp,
  options: Partial<GatewayOptions> = {},
  deps: Partial<GatewayDeps> = {},
): Promise<Gateway> {
  const name = options.nodeName ?? "a";
  return createGateway(
    { ...options, nodeName: name },
    {
      smartHttp,
      view: () => memberView(name, [memberInfo(name)], [name]),
      replicasOf: () => undefined,
      ready: () => ({ ready: true, reason: "" }),
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      ...deps,
    },
  );
}

/** As `makeGateway`, listening on a free loopback port. */
export async function startGateway(
  ...args: Parameters<typeof makeGateway>
): Promise<Gateway & { readonly url: string; readonly port: number }> {
  const gateway = await makeGateway(...args);
  const { port } = await gateway.listen({ host: "127.0.0.1", port: 0 });
  return Object.assign(gateway, { url: `http://127.0.0.1:${port}`, port });
}
