import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type FastifyInstance, fastify } from "fastify";
import { Connections } from "./connections.ts";
import type { Gateway, ListenerAddress } from "./gateway.ts";
import { defaultGatewayOptions, type GatewayDeps, type GatewayOptions } from "./gateway-options.ts";
import { GitHandler } from "./git-handler.ts";
import { parseRepositoryUrl } from "./repository-url.ts";

/** Makes the HTTP listener; it accepts from `listen` on. */
export async function createGateway(
  options: Partial<GatewayOptions> & Pick<GatewayOptions, "nodeName">,
  deps: GatewayDeps,
): Promise<Gateway> {
  const gateway = new HttpGateway({ ...defaultGatewayOptions, ...options }, deps);
  await gateway.prepare();
  return gateway;
}

/** Where fastify finds the handler of git's requests; what the client asked for stays in `originalUrl`. */
const gitRoute = "/-/git";

class HttpGateway implements Gateway {
  readonly #options: GatewayOptions;
  readonly #deps: GatewayDeps;
  readonly #app: FastifyInstance;
  readonly #git: GitHandler;
  readonly #connections = new Connections();
  #closing = false;

  constructor(options: GatewayOptions, deps: GatewayDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#git = new GitHandler(options, deps);
    this.#app = fastify({
      // A push may take as long as it takes; a client that stops sending is found by the handler's own timer.
      requestTimeout: 0,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      // TCP finds peers that vanished while they waited for us, when no timer of ours runs.
      http: { maxHeaderSize: options.maxHeaderBytes, keepAlive: true, keepAliveInitialDelay: 60_000 },
      bodyLimit: Number.MAX_SAFE_INTEGER,
      rewriteUrl: (request) => (looksLikeGit(request.url ?? "") ? gitRoute : (request.url ?? "/")),
      frameworkErrors: (_error, _request, reply) => {
        const headers = { "Content-Type": "text/plain; charset=utf-8", "Gitaly-Node": options.nodeName };
        reply.raw.writeHead(400, headers).end("malformed URL\n");
      },
      clientErrorHandler: (error, socket) => {
        const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
        const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n`;
        // Into an answer that has begun it would be written as a part of it.
        if (socket.writable && !this.#connections.isAnswering(socket))
          socket.end(`${head}Gitaly-Node: ${options.nodeName}\r\n\r\nmalformed request\n`);
        socket.destroySoon();
      },
    });
  }

  async prepare(): Promise<void> {
    const app = this.#app;
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    app.addHook("onRequest", async (_request, reply) => {
      reply.header("Gitaly-Node", this.#options.nodeName);
      if (this.#closing) reply.header("Connection", "close");
    });
    app.setErrorHandler(async (error, request, reply) => {
      const status = statusOf(error);
      if (status >= 500) this.#deps.logger.error("HTTP request failed", { error, route: request.routeOptions.url });
      return reply
        .code(status)
        .type("text/plain")
        .send(status >= 500 ? "internal error\n" : "bad request\n");
    });
    app.setNotFoundHandler(async (request, reply) => {
      const path = request.url.split("?")[0] ?? "";
      if (app.hasRoute({ method: "GET", url: path })) reply.code(405).header("Allow", "GET, HEAD");
      else reply.code(404);
      return reply.type("text/plain").send(reply.statusCode === 405 ? "method not allowed\n" : "not found\n");
    });
    this.#addNodeRoutes();
    await this.#deps.extraRoutes?.(app);
    app.all(gitRoute, (request, reply) => {
      reply.hijack();
      void this.#git.handle(request.originalUrl, request.raw, reply.raw, this.#closing);
    });
    await app.ready();
    this.#connections.watch(app.server);
  }

  get address(): ListenerAddress | undefined {
    const address = this.#app.server.address() as AddressInfo | null;
    return address ? { host: address.address, port: address.port } : undefined;
  }

  async listen(at: ListenerAddress): Promise<ListenerAddress> {
    const { server } = this.#app;
    server.listen({ host: at.host, port: at.port });
    // Rejects with the error event where there is one.
    await once(server, "listening");
    return { host: at.host, port: (server.address() as AddressInfo).port };
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#closing = true;
    const { server } = this.#app;
    const cutOff = () => server.closeAllConnections();
    if (signal.aborted) cutOff();
    signal.addEventListener("abort", cutOff, { once: true });
    try {
      const closed = server.listening ? once(server, "close") : undefined;
      if (server.listening) server.close();
      this.#connections.closeIdle();
      await closed;
      await this.#git.settled();
      await this.#app.close();
    } finally {
      signal.removeEventListener("abort", cutOff);
    }
  }

  async destroy(): Promise<void> {
    await this.close(AbortSignal.abort());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  #addNodeRoutes(): void {
    const noStore = { "Cache-Control": "no-store" };
    this.#app.get("/-/health", async (_request, reply) => reply.headers(noStore).type("text/plain").send("ok\n"));
    this.#app.get("/-/ready", async (_request, reply) => {
      const { ready, reason } = this.#deps.ready();
      return reply
        .headers(noStore)
        .code(ready ? 200 : 503)
        .send({ ready, reason });
    });
    if (!this.#options.metricsRoute) return;
    this.#app.get("/metrics", async (_request, reply) => {
      const { metrics } = this.#deps;
      return reply
        .headers(noStore)
        .type(metrics.contentType)
        .send(await metrics.expose());
    });
  }
}

/** The handler answers what is wrong with such a URL. */
function looksLikeGit(target: string): boolean {
  try {
    return parseRepositoryUrl(target) !== undefined;
  } catch {
    return true;
  }
}

function statusOf(error: unknown): number {
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === "number" && status >= 400 && status < 600 ? status : 500;
}
