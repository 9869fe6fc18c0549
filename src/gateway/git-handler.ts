import type { IncomingMessage, ServerResponse } from "node:http";
import { CodedError, commaList, Semaphore, sharedAbortController } from "../base/index.ts";
import type { GitService } from "../git/index.ts";
import type { SmartHttpRequest } from "../services/index.ts";
import { discardBody } from "./discard-body.ts";
import { type GatewayMetrics, gatewayMetrics } from "./gateway-metrics.ts";
import type { GatewayDeps, GatewayOptions } from "./gateway-options.ts";
import { httpError } from "./http-error.ts";
import { protocolVersion } from "./protocol-version.ts";
import { redirectTarget } from "./redirect-target.ts";
import { parseRepositoryUrl, type RepositoryUrl } from "./repository-url.ts";
import { requestBody } from "./request-body.ts";
import { type SendOptions, sendAnswer } from "./send-answer.ts";

/** Answers must not be kept by caches on the way: the next one differs. */
const neverCached = {
  Expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  Pragma: "no-cache",
  "Cache-Control": "no-cache, max-age=0, must-revalidate",
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client goes or is given up. */
  readonly signal: AbortSignal;
  readonly onIdle: () => void;
  /** Sent with every answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Git's own requests: where they belong, and the stream in both directions. */
export class GitHandler {
  readonly #options: GatewayOptions;
  readonly #deps: GatewayDeps;
  readonly #metrics: GatewayMetrics;
  readonly #places: Semaphore;
  readonly #running = new Set<Promise<void>>();

  constructor(options: GatewayOptions, deps: GatewayDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = gatewayMetrics(deps.metrics);
    this.#places = new Semaphore(options.maxRequests, options.maxRequests);
  }

  /** Serves one request whose raw target is `target`. Never rejects. */
  handle(target: string, request: IncomingMessage, response: ServerResponse, lastOnConnection: boolean): Promise<void> {
    const running = this.#exchange(target, request, response, lastOnConnection).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Resolves when no request is being served. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #exchange(target: string, request: IncomingMessage, response: ServerResponse, lastOnConnection: boolean): Promise<void> {
    const { clock, logger } = this.#deps;
    const startedMs = clock.monotonic();
    const client = sharedAbortController();
    const exchange: Exchange = {
      request,
      response,
      signal: client.signal,
      onIdle: () => {
        this.#metrics.idleClients.add();
        client.abort(new CodedError("deadline_exceeded", "the client did nothing for too long"));
        response.destroy();
      },
      headers: { ...neverCached, "Gitaly-Node": this.#options.nodeName, ...(lastOnConnection ? { Connection: "close" } : {}) },
    };
    response.on("close", () => {
      if (!response.writableFinished) client.abort(new CodedError("cancelled", "the client went away"));
    });
    response.on("error", () => {});
    this.#metrics.inFlight.add(1);
    let url: RepositoryUrl | undefined;
    try {
      url = parseRepositoryUrl(target);
      if (!url) throw new CodedError("not_found", "not found");
      await this.#answer(url, exchange);
    } catch (error) {
      this.#fail(error, url, exchange);
    }
    discardBody(request, { maxBytes: maxDiscardedBytes, timeoutMs: this.#options.idleTimeoutMs }, clock);
    const route = url?.route ?? "none";
    const status = response.writableEnded ? response.statusCode : 0;
    const seconds = (clock.monotonic() - startedMs) / 1000;
    this.#metrics.inFlight.add(-1);
    this.#metrics.requests.add(1, { route, status });
    this.#metrics.seconds.observe(seconds, { route });
    logger.debug("git request over HTTP", { route, relativePath: url?.path, status, seconds });
  }

  async #answer(url: RepositoryUrl, exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const methods = url.route === "info/refs" ? ["GET", "HEAD"] : ["POST"];
    if (!methods.includes(request.method ?? "")) return sendText(exchange, 405, "method not allowed", { Allow: methods.join(", ") });
    if (url.route === "info/refs") return this.#infoRefs(url, exchange);
    if (request.headers["content-type"] !== `application/x-${url.route}-request`) {
      return sendText(exchange, 415, `content type is not application/x-${url.route}-request`);
    }
    const body = requestBody(request, { ...this.#options, onIdle: exchange.onIdle }, this.#deps.clock);
    using _place = await this.#places.acquire(exchange.signal);
    const { smartHttp } = this.#deps;
    const asked = smartHttpRequest(url, exchange);
    const push = url.route === "git-receive-pack";
    const chunks = await (push ? smartHttp.receivePack(asked, body) : smartHttp.uploadPack(asked, body));
    await this.#send(exchange, `application/x-${url.route}-result`, chunks, push ? this.#trailers(url.path, exchange) : undefined);
  }

  async #infoRefs(url: RepositoryUrl, exchange: Exchange): Promise<void> {
    const service = new URLSearchParams(url.query).get("service");
    if (!isGitService(service)) return sendText(exchange, 403, "service not served here; git-upload-pack and git-receive-pack are");
    const location = this.#redirect(url, service, exchange.request);
    if (location !== undefined) {
      this.#metrics.redirects.add();
      return sendText(exchange, 307, "this repository is served by another node", { Location: location });
    }
    using _place = await this.#places.acquire(exchange.signal);
    const chunks = await this.#deps.smartHttp.infoRefs(service, smartHttpRequest(url, exchange));
    await this.#send(exchange, `application/x-${service}-advertisement`, chunks);
  }

  #redirect(url: RepositoryUrl, service: GitService, { headers }: IncomingMessage): string | undefined {
    if (this.#options.http === "relay" || headers.authorization !== undefined) return undefined;
    if (String(headers["gitaly-redirect"]).toLowerCase() === "never") return undefined;
    return redirectTarget(this.#deps.view(), { url, service, replicas: this.#deps.replicasOf(url.path) });
  }

  /** A push is known to the index only after its answer: a client that wants to see it there gets a trailer. */
  #trailers(path: string, { request, signal }: Exchange): SendOptions["trailers"] {
    const { consistency } = this.#deps;
    const given = request.headers[consistencyHeader.toLowerCase()];
    if (!consistency || given === undefined) return undefined;
    const tokens = commaList(String(given));
    return async () => {
      const token = await consistency(path, tokens, signal);
      return token === undefined ? {} : { [consistencyHeader]: token };
    };
  }

  async #send(
    exchange: Exchange,
    contentType: string,
    chunks: AsyncIterable<Uint8Array>,
    trailers: SendOptions["trailers"] = undefined,
  ): Promise<void> {
    const { response, signal, onIdle } = exchange;
    const headers = { ...exchange.headers, "Content-Type": contentType, ...(trailers && { Trailer: consistencyHeader }) };
    const options = { idleTimeoutMs: this.#options.idleTimeoutMs, onIdle, signal, ...(trailers && { trailers }) };
    this.#metrics.sentBytes.add(await sendAnswer(response, headers, chunks, options, this.#deps.clock));
  }

  #fail(error: unknown, url: RepositoryUrl | undefined, exchange: Exchange): void {
    const { response, signal } = exchange;
    const fields = { error, route: url?.route, relativePath: url?.path };
    if (signal.aborted || response.headersSent) {
      if (signal.aborted) this.#deps.logger.debug("git request over HTTP was given up", fields);
      else this.#deps.logger.error("an answer to git was cut off", fields);
      response.destroy();
      return;
    }
    const { status, message, headers } = httpError(error, url?.path ?? "");
    if (status === 500) this.#deps.logger.error("git request over HTTP failed", fields);
    sendText(exchange, status, message, headers);
  }
}

/** What a client brings along, and the trailer that it is answered with. */
const consistencyHeader = "Gitaly-Consistency";

/** Of a body that no one wants, read so that the client sees the answer rather than a reset. */
const maxDiscardedBytes = 64 * 1024 * 1024;

function smartHttpRequest(url: RepositoryUrl, { request, signal }: Exchange): SmartHttpRequest {
  return { path: url.path, gitProtocol: protocolVersion(request.headers["git-protocol"]), signal };
}

function sendText({ response, headers }: Exchange, status: number, message: string, more: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { ...headers, "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", ...more });
  response.end(`${message}\n`);
}

function isGitService(text: string | null): text is GitService {
  return text === "git-upload-pack" || text === "git-receive-pack";
}
