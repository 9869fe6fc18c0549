import { systemClock, systemRandom } from "../base/index.ts";
import { noMetrics, silentLogger } from "../observability/index.ts";
import { HostMonitor } from "./hosts/host-monitor.ts";
import { listServers } from "./hosts/listed-server.ts";
import { MonitorLog } from "./hosts/monitor-log.ts";
import { LoadBalancer } from "./load-balancer.ts";
import { defaultLoadBalancerOptions, type LoadBalancerDeps, type LoadBalancerOptions, type SharedStickingOptions } from "./options.ts";

/** Options as they are given: all but `primary` have defaults. */
export type GivenLoadBalancerOptions = Partial<Omit<LoadBalancerOptions, "sticking" | "primary">> &
  Pick<LoadBalancerOptions, "primary"> & { readonly sticking?: Partial<SharedStickingOptions> };

/**
 * Makes a load balancer. The servers have about a second to say what they are; a database that is down shows in the calls that
 * need it. Errors: `bad_config`.
 */
export async function createLoadBalancer(given: GivenLoadBalancerOptions, some: Partial<LoadBalancerDeps> = {}): Promise<LoadBalancer> {
  const options: LoadBalancerOptions = {
    ...defaultLoadBalancerOptions,
    ...given,
    sticking: { ...defaultLoadBalancerOptions.sticking, ...given.sticking },
  };
  const deps: LoadBalancerDeps = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics, ...some };
  const monitor = new HostMonitor(listServers(options.primary, options.replicas), options, { ...deps, log: new MonitorLog(deps) });
  await monitor.ready;
  return new LoadBalancer(options, { ...deps, monitor });
}
