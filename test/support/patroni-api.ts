import { listenHttp } from "./stub-http.ts";

/** A member as `/cluster` lists it. */
export type PatroniMember = Readonly<Record<string, unknown>>;

/** A stub of Patroni's REST API on loopback. */
export interface PatroniApi extends AsyncDisposable {
  readonly url: string;
  /** Method and path of each request. */
  readonly asked: string[];
  members: readonly PatroniMember[];
  mode: "answer" | "fail" | "silence" | "garbage" | "flood";
}

export async function startPatroniApi(members: readonly PatroniMember[] = []): Promise<PatroniApi> {
  const server = await listenHttp((request, response) => {
    api.asked.push(`${request.method} ${request.url}`);
    if (api.mode === "silence") return;
    if (api.mode === "fail") response.writeHead(503).end("{}");
    else if (api.mode === "garbage") response.end("<html>");
    else if (api.mode === "flood") response.end(Buffer.alloc(4 * 1024 * 1024, 32));
    else response.end(JSON.stringify({ members: api.members, scope: "demo" }));
  });
  const api: PatroniApi = {
    url: server.url,
    asked: [],
    members,
    mode: "answer",
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return api;
}
