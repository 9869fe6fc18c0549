import type { IncomingMessage, ServerResponse } from "node:http";
import { defaultRoleEndpointOptions, type RoleAnswer, type RoleEndpointOptions, type RoleView, roleAnswer } from "./role-answer.ts";
import { parseRoleQuestion } from "./role-question.ts";

/** Handles a request of node's HTTP server; false where the path is none of its own, and nothing was answered. */
export type RoleEndpoints = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Tells load balancers of other kinds which server has which role: `GET /primary?server=HOST:PORT`, `/replica?server=…&lag=16MB`,
 * `/read-write`, `/read-only`, `/health`. 200: it has, 503: it has not, with the reason as JSON, 404: no such server. HEAD and
 * OPTIONS give the same status. Answers from what `lb` knows at that moment; undefined where there is none yet.
 */
export function roleEndpoints(lb: RoleView | (() => RoleView | undefined), given: Partial<RoleEndpointOptions> = {}): RoleEndpoints {
  const options = { ...defaultRoleEndpointOptions, ...given };
  const view = typeof lb === "function" ? lb : () => lb;
  return (request, response) => {
    const question = parseRoleQuestion(request.url ?? "/");
    if (question === undefined) return false;
    const method = request.method ?? "";
    if (!["GET", "HEAD", "OPTIONS"].includes(method)) send(response, method, 405, { reason: "method_not_allowed" });
    else if (typeof question === "string") send(response, method, 400, { reason: question });
    else {
      const known = view();
      const { status, body }: RoleAnswer = known
        ? roleAnswer(question, known, options)
        : { status: 503, body: { server: question.server ?? null, reason: "no_database" } };
      send(response, method, status, body);
    }
    // A body that nobody wants must not keep the connection.
    request.resume();
    return true;
  };
}

function send(response: ServerResponse, method: string, status: number, body: Readonly<Record<string, unknown>>): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
    Allow: "GET, HEAD, OPTIONS",
  });
  response.end(method === "HEAD" ? undefined : text);
}
