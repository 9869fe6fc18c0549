import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CodedError } from "../../src/base/index.ts";
import type { SmartHttp, SmartHttpRequest } from "../../src/services/index.ts";

/** Smart HTTP answered by stock git's own children over bare repositories below `root`: for tests of what carries it. */
export class StockSmartHttp implements SmartHttp {
  /** `service path` of each request, in order. */
  readonly requests: string[] = [];
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async infoRefs(service: "git-upload-pack" | "git-receive-pack", request: SmartHttpRequest): Promise<AsyncIterable<Uint8Array>> {
    const child = this.#run("info/refs", service, ["--http-backend-info-refs"], request);
    child.stdin.end();
    const line = `# service=${service}\n`;
    const header = request.gitProtocol === "version=2" && service === "git-upload-pack" ? "" : `${pktLine(line)}0000`;
    return chain(Buffer.from(header), child.stdout);
  }

  async uploadPack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    return this.#exchange("git-upload-pack", request, body);
  }

  async receivePack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    return this.#exchange("git-receive-pack", request, body);
  }

  async noted(): Promise<void> {}

  #exchange(service: string, request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const child = this.#run(service, service, [], request);
    void pipeline(Readable.from(body, { objectMode: false }), child.stdin).catch(() => child.kill());
    return child.stdout;
  }

  #run(route: string, service: string, args: readonly string[], { path, gitProtocol, signal }: SmartHttpRequest) {
    this.requests.push(`${route} ${path}`);
    const dir = join(this.#root, path);
    if (!existsSync(dir)) throw new CodedError("repository_not_found", "repository not found", { relativePath: path });
    const env = {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      ...(gitProtocol === "" ? {} : { GIT_PROTOCOL: gitProtocol }),
    };
    const child = spawn("git", [service.slice("git-".length), "--stateless-rpc", ...args, dir], { env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.on("error", () => {});
    signal.addEventListener("abort", () => child.kill(), { once: true });
    return child;
  }
}

function pktLine(text: string): string {
  return (text.length + 4).toString(16).padStart(4, "0") + text;
}

async function* chain(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* rest;
}
