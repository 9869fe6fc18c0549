import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

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
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    api.asked.push(`${request.method} ${request.url}`);
    if (api.mode === "silence") return;
    if (api.mode === "fail") response.writeHead(503).end("{}");
    else if (api.mode === "garbage") response.end("<html>");
    else if (api.mode === "flood") response.end(Buffer.alloc(4 * 1024 * 1024, 32));
    else response.end(JSON.stringify({ members: api.members, scope: "demo" }));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api: PatroniApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    members,
    mode: "answer",
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return api;
}
