import type { GitService } from "../git/index.ts";
import { decide, type MemberView } from "../routing/index.ts";
import { type RepositoryUrl, redirectUrl } from "./repository-url.ts";

/** What a redirect is decided from. */
export interface RedirectRequest {
  readonly url: RepositoryUrl;
  readonly service: GitService;
  readonly replicas: number | undefined;
}

/** Where an anonymous `info/refs` belongs: the URL on the first owner that is surely alive, or undefined to serve it here. */
export function redirectTarget(view: MemberView, request: RedirectRequest): string | undefined {
  const { url, service, replicas } = request;
  if (url.redirected) return undefined;
  const decision = decide(
    view,
    { storageName: "default", relativePath: url.path },
    { kind: service === "git-receive-pack" ? "write" : "read", aware: true, hops: 0, replicas },
    { unawareClients: "serve" },
  );
  if (decision.kind !== "redirect") return undefined;
  for (const owner of decision.owners) {
    const baseUrl = owner.status === "ready" && owner.name !== view.self ? safeBaseUrl(owner.httpUrl) : undefined;
    if (baseUrl !== undefined) return redirectUrl(baseUrl, url.path, `service=${service}`);
  }
  return undefined;
}

/** Only what a peer may rightly announce ends up in a header. */
function safeBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, pathname, search, hash, username, password } = new URL(text);
  const plain = search === "" && hash === "" && username === "" && password === "";
  return plain && (protocol === "http:" || protocol === "https:") ? `${protocol}//${host}${pathname}` : undefined;
}
