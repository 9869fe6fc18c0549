import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Git, GitService } from "../../src/git/index.ts";
import type { GitFixture } from "./git-fixture.ts";

/** Git's smart HTTP protocol for one fixture, on a port of its own. */
export class GitHttpFront implements AsyncDisposable {
  readonly url: string;
  /** What calls threw, in order. */
  readonly errors: unknown[] = [];
  readonly #server: Server;
  readonly #git: Git;
  readonly #fixture: GitFixture;
  readonly #calls = new Set<Promise<void>>();

  private constructor(server: Server, git: Git, fixture: GitFixture) {
    this.#server = server;
    this.#git = git;
    this.#fixture = fixture;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/r.git`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const call = this.#serve(request, response).catch((error: unknown) => {
        this.errors.push(error);
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end("failed");
      });
      this.#calls.add(call);
      void call.finally(() => this.#calls.delete(call));
    });
  }

  static async start(git: Git, fixture: GitFixture): Promise<GitHttpFront> {
    const server = createServer({ requestTimeout: 0 });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new GitHttpFront(server, git, fixture);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await Promise.all(this.#calls);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://x");
    const view = this.#fixture.view();
    const gitProtocol = String(request.headers["git-protocol"] ?? "");
    const left = new AbortController();
    response.on("close", () => left.abort(new Error("client left")));
    if (url.pathname.endsWith("/info/refs")) {
      const service = url.searchParams.get("service") as GitService;
      await send(response, `application/x-${service}-advertisement`, Readable.from(this.#git.advertise(view, service, gitProtocol)));
    } else if (url.pathname.endsWith("/git-upload-pack")) {
      const answer = this.#git.uploadPack(view, bodyOf(request), { gitProtocol, signal: left.signal });
      await send(response, "application/x-git-upload-pack-result", answer);
    } else {
      const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
      try {
        const publish = this.#fixture.publish.bind(this.#fixture);
        const answer = this.#git.receivePack(view, bodyOf(request), { quarantineDir, publish, signal: left.signal });
        await send(response, "application/x-git-receive-pack-result", answer);
      } finally {
        await rm(quarantineDir, { recursive: true, force: true });
      }
    }
  }
}

function bodyOf(request: IncomingMessage): AsyncIterable<Uint8Array> {
  if (request.headers["content-encoding"] !== "gzip") return request.iterator({ destroyOnReturn: false });
  return pipeline(request, createGunzip(), () => {}).iterator({ destroyOnReturn: false });
}

async function send(response: ServerResponse, type: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  let started = false;
  const start = () => {
    if (!started) response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
    started = true;
  };
  for await (const chunk of body) {
    start();
    if (!response.write(chunk) && !response.destroyed) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          response.off("drain", wake).off("close", wake);
          resolve();
        };
        response.once("drain", wake).once("close", wake);
      });
    }
    if (response.destroyed) return;
  }
  start();
  response.end();
}
