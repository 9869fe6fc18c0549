import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** git's own http-backend over a directory of bare repositories, behind the smallest CGI host there can be. */
export async function startHttpBackend(projectRoot: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: projectRoot,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_COUNT: "2",
        GIT_CONFIG_KEY_0: "http.receivepack",
        GIT_CONFIG_VALUE_0: "true",
        GIT_CONFIG_KEY_1: "safe.directory",
        GIT_CONFIG_VALUE_1: "*",
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? "GET",
        REMOTE_USER: "bench",
        REMOTE_ADDR: "127.0.0.1",
        ...(request.headers["content-type"] ? { CONTENT_TYPE: request.headers["content-type"] } : {}),
        ...(request.headers["content-length"] ? { CONTENT_LENGTH: request.headers["content-length"] } : {}),
        ...(request.headers["content-encoding"] ? { HTTP_CONTENT_ENCODING: request.headers["content-encoding"] } : {}),
        ...(request.headers["git-protocol"] ? { GIT_PROTOCOL: String(request.headers["git-protocol"]) } : {}),
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.stdin.on("error", () => {});
    request.pipe(child.stdin);
    let head: Buffer | undefined = Buffer.alloc(0);
    child.stdout.on("data", (chunk: Buffer) => {
      if (head === undefined) {
        if (!response.write(chunk)) child.stdout.pause();
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      for (const line of head.toString("latin1", 0, end).split("\r\n")) {
        const [name = "", value = ""] = line.split(/:\s*/, 2);
        if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.write(head.subarray(end + 4));
      head = undefined;
    });
    response.on("drain", () => child.stdout.resume());
    child.stdout.on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
