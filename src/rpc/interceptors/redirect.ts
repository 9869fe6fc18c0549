import { CodedError } from "../../base/index.ts";
import type { Metrics } from "../../observability/index.ts";
import type { Repository__Output } from "../../proto/gen/gitaly/Repository.ts";
import { valueAt } from "../../proto/index.ts";
import { type Decision, decide, type MemberInfo, type MemberView, type RoutingOptions } from "../../routing/index.ts";
import { RedirectStatus } from "../errors.ts";
import { type Interceptor, metadataText, type ServerCall } from "../server-call.ts";
import { targetPath } from "../target-path.ts";

export interface RedirectDeps {
  readonly view: () => MemberView;
  /** k of a repository, where it has its own. */
  readonly replicasOf: (relativePath: string) => number | undefined;
  readonly storageName: string;
  readonly metrics: Metrics;
}

/** Owners named in one redirect; the rest would not fit into the response's trailers. */
const maxOwners = 16;

/** Sends calls to the nodes that own their repository, decided from the first message, before a handler starts. */
export function redirect(options: RoutingOptions, deps: RedirectDeps): Interceptor {
  const decisions = deps.metrics.counter("gitaly_cluster_route_decisions_total", "Calls about repositories by decision.", ["decision"]);
  return async (call, next) => {
    const { target, intercepted, kind } = call.method.route;
    if (target === undefined || intercepted) return next();
    const first = await call.first();
    const relativePath = targetPath(valueAt(first ?? {}, target) as Repository__Output | null, deps.storageName);
    call.repository = { storageName: deps.storageName, relativePath };
    const aware = metadataText(call.metadata, "gitaly-redirect") === "follow";
    const hops = numberIn(call, "gitaly-redirect-hops", 0) ?? 0;
    const replicas = numberIn(call, "gitaly-replicas", 1) ?? deps.replicasOf(relativePath);
    const decision = reachable(decide(deps.view(), call.repository, { kind, aware, hops, replicas }, options));
    decisions.add(1, { decision: decision.kind });
    if (decision.kind === "local") return next();
    throw statusFor(decision);
  };
}

/** Without a member that has an address there is nowhere to send the call, so it is served here. */
function reachable(decision: Decision): Decision {
  if (decision.kind === "local") return decision;
  const owners = decision.owners.filter((owner) => owner.grpcAddress !== "").slice(0, maxOwners);
  return owners.length === 0 ? { kind: "local" } : { ...decision, owners };
}

function statusFor(decision: Exclude<Decision, { kind: "local" }>): RedirectStatus {
  const owners = decision.owners.map((owner) => ({
    node: owner.name,
    address: addressOf(owner),
    zone: owner.zone.slice(0, 64).toWellFormed(),
  }));
  const redirectError = { owners, ringFingerprint: decision.fingerprint };
  if (decision.kind === "redirect") return new RedirectStatus("another node owns the repository", redirectError);
  const names = owners.slice(0, 4).map(({ node, address }) => `${node} (${address})`);
  return new RedirectStatus(`this node does not own the repository; ask ${names.join(" or ")}`, redirectError);
}

function addressOf(owner: MemberInfo): string {
  return `${owner.grpcTls ? "grpcs" : "grpc"}://${owner.grpcAddress}`;
}

function numberIn(call: ServerCall, key: string, least: number): number | undefined {
  const text = metadataText(call.metadata, key);
  if (text === undefined) return undefined;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : -1;
  if (value < least)
    throw new CodedError("invalid_argument", `metadata ${key} is not a number from ${least}`, { value: text.slice(0, 40) });
  return value;
}
