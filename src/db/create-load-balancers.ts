import { CodedError, systemClock } from "../base/index.ts";
import { noMetrics } from "../observability/index.ts";
import { createLoadBalancer, type GivenLoadBalancerOptions } from "./create-load-balancer.ts";
import { LabelledMetrics } from "./labelled-metrics.ts";
import type { LoadBalancer } from "./load-balancer.ts";
import { LoadBalancers } from "./load-balancers.ts";
import type { LoadBalancerDeps } from "./options.ts";

/** Makes a load balancer per database, named by its key: `{ main: { primary: … }, ci: { primary: … } }`. Errors: `bad_config`. */
export async function createLoadBalancers<N extends string>(
  databases: Readonly<Record<N, Omit<GivenLoadBalancerOptions, "name">>>,
  deps: Partial<LoadBalancerDeps> = {},
): Promise<LoadBalancers<N>> {
  const names = Object.keys(databases) as N[];
  const wrong = names.find((name) => !/^[a-z][a-z0-9_]{0,62}$/.test(name));
  if (names.length === 0 || wrong !== undefined) {
    throw new CodedError("bad_config", "databases have short names of lower-case letters, digits and underscores", { name: wrong });
  }
  const metrics = new LabelledMetrics(deps.metrics ?? noMetrics);
  const opened = await Promise.allSettled(
    names.map(
      async (name) => [name, await createLoadBalancer({ ...databases[name], name }, { ...deps, metrics: metrics.of(name) })] as const,
    ),
  );
  const made = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = opened.find((one) => one.status === "rejected");
  if (failed) {
    await Promise.all(made.map(([, balancer]) => balancer.close()));
    throw failed.reason;
  }
  return new LoadBalancers(new Map<N, LoadBalancer>(made), { clock: deps.clock ?? systemClock });
}
