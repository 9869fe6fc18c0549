import { once } from "node:events";
import { createServer } from "node:http";
import type { ListenAddress } from "../config/index.ts";
import type { MetricsRegistry } from "../observability/index.ts";
import { listenOnFree } from "./free-port.ts";

/** Serves `/metrics` on a port of its own. Errors: `failed_precondition` where the port is taken. */
export async function openMetricsListener(address: ListenAddress, metrics: MetricsRegistry): Promise<AsyncDisposable> {
  const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("only GET /metrics is here\n");
      return;
    }
    metrics.expose().then(
      (page) => response.writeHead(200, { "Content-Type": metrics.contentType }).end(page),
      () => response.writeHead(500).end(),
    );
  });
  await listenOnFree("prometheus", address, new Set(), async (host, port) => {
    server.listen({ host, port });
    await once(server, "listening");
  });
  return {
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
