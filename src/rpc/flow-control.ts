import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Server } from "@grpc/grpc-js";

/** Fields that grpc-js does not document. */
interface ServerInternals {
  readonly commonServerOptions?: { settings?: Record<string, unknown> };
  readonly http2Servers?: Map<Http2Server, unknown>;
}

/**
 * Widens how much a client may upload before it must wait for us: grpc-js leaves servers at 64 KiB, which holds an upload
 * over a 20 ms line to 3 MB/s. Call `streams` before and `connections` after the server is bound.
 *
 * @returns undefined where this version of grpc-js has no such fields; uploads then work at the old speed.
 */
export function flowControl(server: Server, windowBytes: number): { streams(): void; connections(): void } | undefined {
  const { commonServerOptions, http2Servers } = server as unknown as ServerInternals;
  if (typeof commonServerOptions !== "object" || !(http2Servers instanceof Map)) return undefined;
  return {
    streams: () => {
      commonServerOptions.settings = { ...commonServerOptions.settings, initialWindowSize: windowBytes };
    },
    connections: () => {
      for (const http2Server of http2Servers.keys()) {
        http2Server.on("session", (session: ServerHttp2Session) => session.setLocalWindowSize(windowBytes));
      }
    },
  };
}
