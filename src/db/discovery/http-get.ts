import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { CodedError } from "../../base/index.ts";

/** What a server answered to a GET. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** Asks for a URL, http or https, on a connection of its own. Rejects when `signal` aborts, and for bodies above 1 MiB. */
export type HttpGet = (url: URL, signal: AbortSignal) => Promise<HttpAnswer>;

const maxBodyBytes = 1024 * 1024;

export const httpGet: HttpGet = (url, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    // No connection is kept: between two questions the other side may have been replaced.
    const request = send(url, { method: "GET", agent: false, headers: { accept: "application/json", connection: "close" } });
    const onAbort = () => request.destroy(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    request.once("close", () => signal.removeEventListener("abort", onAbort));
    request.once("error", reject);
    request.once("response", (response) => {
      readBody(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    request.end();
  });

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop destroys the response, and its connection with it.
    if (size > maxBodyBytes) throw new CodedError("limit_exceeded", "an HTTP answer is too long", { maxBodyBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
