import type { MemberInfo, MemberView } from "./member-view.ts";

/** What a call wants, as far as routing cares. */
export interface Intent {
  readonly kind: "read" | "write";
  /** The caller said that it follows redirects. */
  readonly aware: boolean;
  /** Redirects that brought the call here. */
  readonly hops: number;
  /** k for this call; undefined: the repository's or the cluster's. */
  readonly replicas: number | undefined;
}

export type Decision =
  | { readonly kind: "local" }
  /** `owners` in order of preference, suspects last; never empty and never this node. */
  | { readonly kind: "redirect"; readonly owners: readonly MemberInfo[]; readonly fingerprint: string }
  | { readonly kind: "refuse"; readonly owners: readonly MemberInfo[]; readonly fingerprint: string };

export interface RoutingOptions {
  /** What happens to callers that do not follow redirects. Default "serve". */
  readonly unawareClients: "serve" | "refuse";
}

/** The bytes that the ring hashes for a repository. */
export function ringKey(storageName: string, relativePath: string): string {
  return `${storageName}\0${relativePath}`;
}

/** Where a call on a repository belongs: here, elsewhere, or nowhere for a caller that cannot follow. Pure. */
export function decide(
  view: MemberView,
  repository: { storageName: string; relativePath: string },
  intent: Intent,
  options: RoutingOptions,
): Decision {
  const find = (name: string) => view.members.find((member) => member.name === name);
  // Others may not have heard yet that this node drains: who was sent here by them would be sent back.
  if (intent.hops >= 2 || (intent.hops === 1 && find(view.self)?.status === "draining")) return { kind: "local" };
  const sites = view.ring.owners(ringKey(repository.storageName, repository.relativePath), intent.replicas);
  if (sites.some(({ name }) => name === view.self)) return { kind: "local" };
  const owners = sites.map(({ name }) => find(name)).filter((member) => member !== undefined);
  if (owners.length === 0) return { kind: "local" };
  const ordered = [...owners.filter((member) => member.status === "ready"), ...owners.filter((member) => member.status !== "ready")];
  const fingerprint = view.ring.fingerprint;
  if (intent.aware) return { kind: "redirect", owners: ordered, fingerprint };
  return options.unawareClients === "serve" ? { kind: "local" } : { kind: "refuse", owners: ordered, fingerprint };
}
