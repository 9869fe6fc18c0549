import { splitHostPort, startDeadline, systemClock, systemRandom } from "../base/index.ts";
import { noMetrics, silentLogger } from "../observability/index.ts";
import { checkOptions } from "./check-options.ts";
import type { DiscoveryLoop } from "./discovery/discovery-loop.ts";
import { prepareDiscovery } from "./discovery/start-discovery.ts";
import type { HostOptions } from "./hosts/host.ts";
import { HostMonitor, type HostMonitorOptions } from "./hosts/host-monitor.ts";
import { listServers } from "./hosts/listed-server.ts";
import { MonitorLog } from "./hosts/monitor-log.ts";
import { checkDriverTakes } from "./hosts/role-client.ts";
import { LoadBalancer } from "./load-balancer.ts";
import { defaultLoadBalancerOptions, type LoadBalancerDeps, type LoadBalancerOptions, type SharedStickingOptions } from "./options.ts";
import type { OverloadOptions } from "./overload/overload-options.ts";
import { PositionTokens } from "./sticking/position-tokens.ts";
import { Switches } from "./switches.ts";

/** Options as they are given: all but `primary` have defaults. */
export type GivenLoadBalancerOptions = Partial<Omit<LoadBalancerOptions, "sticking" | "overload" | "primary">> &
  Pick<LoadBalancerOptions, "primary"> & {
    readonly sticking?: Partial<SharedStickingOptions>;
    readonly overload?: Partial<OverloadOptions>;
  };

// What is found at start may be looked at for this long before the first use.
const firstCheckMs = 1000;

/**
 * Makes a load balancer. Discovery has two seconds to answer, the servers about one to say what they are; a database that is down shows in the calls that
 * need it. Errors: `bad_config`.
 */
export async function createLoadBalancer(given: GivenLoadBalancerOptions, some: Partial<LoadBalancerDeps> = {}): Promise<LoadBalancer> {
  const options: LoadBalancerOptions = {
    ...defaultLoadBalancerOptions,
    ...given,
    sticking: { ...defaultLoadBalancerOptions.sticking, ...given.sticking },
    overload: { ...defaultLoadBalancerOptions.overload, ...given.overload },
  };
  const deps: LoadBalancerDeps = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics, ...some };
  const { secret, audience, expirationMs } = options.sticking;
  // Whatever may be wrong with the options is said before anything is opened.
  checkOptions(options);
  const tokens = secret === undefined ? undefined : new PositionTokens({ secret, audience, expirationMs }, deps);
  const servers = listServers(options.primary, options.replicas);
  for (const { address } of servers) checkDriverTakes(address);
  const { port = 5432 } = splitHostPort(servers[0]?.address.name ?? "") ?? {};
  const prepared = options.discovery && prepareDiscovery(options.discovery, port, deps);
  let discovery: DiscoveryLoop | undefined;
  const { switches: settings, processRole } = options;
  const switches = settings instanceof Switches ? settings : new Switches(settings, processRole);
  const monitor = new HostMonitor(servers, watched(options, switches), {
    ...deps,
    log: new MonitorLog(deps),
    onTrouble: () => discovery?.refreshSoon(),
  });
  discovery = prepared?.start({
    apply: (found, authority) => monitor.setFound(found, authority),
    isUsable: (name) => monitor.hosts.snapshot.replicas.some((one) => one.usable && one.host.name === name),
  });
  await Promise.all([monitor.ready, discovery?.ready]);
  if (discovery) {
    using patience = startDeadline(deps.clock, firstCheckMs);
    await monitor.hosts.allChecked(patience.signal).catch(() => {});
  }
  return new LoadBalancer(options, { ...deps, monitor, discovery, switches, tokens });
}

/** The options with those that are switches read anew at each use. */
function watched(options: LoadBalancerOptions, switches: Switches): HostMonitorOptions & HostOptions {
  return {
    ...options,
    get useNewLoadBalancerQuery() {
      return switches.useNewLoadBalancerQuery;
    },
    get ignoreReplicationLagTime() {
      return switches.ignoreReplicationLagTime;
    },
    get doubleReplicationLagTime() {
      return switches.doubleReplicationLagTime;
    },
  };
}
