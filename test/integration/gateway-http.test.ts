import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Clock, CodedError, systemClock } from "../../src/base/index.ts";
import { EchoSmartHttp } from "../support/echo-smart-http.ts";
import { ask, raw } from "../support/http-ask.ts";
import { startGateway } from "../support/start-gateway.ts";

const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const uploadPack = { "Content-Type": "application/x-git-upload-pack-request" };
const receivePack = { "Content-Type": "application/x-git-receive-pack-request" };

describe("git's requests", () => {
  test("reach their service with the decoded path and the protocol, and are answered as git expects", async () => {
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    const refs = await ask(gateway.port, "/g/a%20b.git/info/refs?service=git-upload-pack", { headers: { "Git-Protocol": "version=2" } });
    expect(refs).toMatchObject({ status: 200, body: "refs" });
    expect(refs.headers).toMatchObject({
      "content-type": "application/x-git-upload-pack-advertisement",
      "cache-control": "no-cache, max-age=0, must-revalidate",
      pragma: "no-cache",
      "gitaly-node": "a",
    });
    const pack = await ask(gateway.port, "/g/a%20b.git/git-upload-pack", { headers: uploadPack, body: "wants" });
    expect(pack).toMatchObject({ status: 200, body: "wants", headers: { "content-type": "application/x-git-upload-pack-result" } });
    const push = await ask(gateway.port, "/g/a%20b.git/git-receive-pack", { headers: receivePack, body: "0000" });
    expect(push).toMatchObject({ status: 200, body: "0000", headers: { "content-type": "application/x-git-receive-pack-result" } });
    expect(smartHttp.calls.map(({ service, request }) => [service, request.path, request.gitProtocol])).toEqual([
      ["info/refs git-upload-pack", "g/a b.git", "version=2"],
      ["upload-pack", "g/a b.git", ""],
      ["receive-pack", "g/a b.git", ""],
    ]);
  });

  test("are refused with plain text where service, method or content type is another", async () => {
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    const { port } = gateway;
    for (const query of ["", "?service=git-upload-archive", "?service=git-upload-pack%0a", "?x=git-upload-pack"]) {
      expect(await ask(port, `/a/info/refs${query}`)).toMatchObject({
        status: 403,
        headers: { "content-type": "text/plain; charset=utf-8" },
      });
    }
    expect(await ask(port, "/a/info/refs", { method: "PUT", body: "x" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    expect(await ask(port, "/a/git-upload-pack", { method: "HEAD" })).toMatchObject({ status: 405 });
    expect(await ask(port, "/a/git-upload-pack")).toMatchObject({ status: 405, headers: { allow: "POST" } });
    expect(await ask(port, "/a/git-upload-pack", { method: "OPTIONS" })).toMatchObject({ status: 405 });
    expect(await ask(port, "/a/git-upload-pack", { body: "x" })).toMatchObject({ status: 415 });
    expect(await ask(port, "/a/git-upload-pack", { headers: { "Content-Type": "text/plain" }, body: "x" })).toMatchObject({ status: 415 });
    expect(await ask(port, "/a/git-upload-pack", { headers: { "Content-Type": ";;;" }, body: "x" })).toMatchObject({ status: 415 });
    expect(await ask(port, "/a/HEAD")).toMatchObject({ status: 404, body: "not found\n" });
    expect(await ask(port, "/-/git")).toMatchObject({ status: 404 });
    expect(smartHttp.calls).toEqual([]);
  });

  test.each([
    "/../etc/info/refs?service=git-upload-pack",
    "/%2e%2e/etc/info/refs?service=git-upload-pack",
    "/a/..%2f..%2fetc/git-upload-pack",
    "/a%2Fb/info/refs?service=git-upload-pack",
    "//etc/info/refs?service=git-upload-pack",
    "/a%00/info/refs?service=git-upload-pack",
    "/a%/info/refs?service=git-upload-pack",
    "/%ff%fe/info/refs?service=git-upload-pack",
    "/\xff/info/refs?service=git-upload-pack",
    "/info/refs?service=git-upload-pack",
    "/%",
  ])("the raw target %s is 400 in plain text and reaches no service", async (target) => {
    // B103
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    const answer = await raw(gateway.port, get(target));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/content-type: text\/plain/i);
    expect(answer).toMatch(/gitaly-node: a\r\n/i);
    expect(smartHttp.calls).toEqual([]);
  });

  test("a path that looks like an option, or like one of our own routes, is just a path", async () => {
    // B103
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    for (const path of ["--output=/tmp/pwn", "-/ready", "metrics", "http://x"]) {
      if (path.startsWith("http:")) continue;
      expect(await ask(gateway.port, `/${path}/info/refs?service=git-upload-pack`)).toMatchObject({ status: 200 });
      expect(smartHttp.calls.at(-1)?.request.path).toBe(path);
    }
  });

  test("HEAD answers what GET would, without a body", async () => {
    await using gateway = await startGateway(new EchoSmartHttp());
    const refs = await ask(gateway.port, "/a/info/refs?service=git-upload-pack", { method: "HEAD" });
    expect(refs).toMatchObject({ status: 200, body: "", headers: { "content-type": "application/x-git-upload-pack-advertisement" } });
    expect(await ask(gateway.port, "/a/info/refs", { method: "HEAD" })).toMatchObject({ status: 403, body: "" });
  });

  test("headers beyond the limit are 431", async () => {
    await using gateway = await startGateway(new EchoSmartHttp(), { maxHeaderBytes: 4096 });
    const answer = await raw(gateway.port, `GET /a/info/refs HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(5000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("beyond the limit of requests, more wait, and the next is 503 with a time to come back", async () => {
    const smartHttp = new EchoSmartHttp();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    smartHttp.answer = async function* () {
      await gate;
      yield Buffer.from("done");
    };
    await using gateway = await startGateway(smartHttp, { maxRequests: 1 });
    const path = "/a/info/refs?service=git-upload-pack";
    const first = ask(gateway.port, path);
    while (smartHttp.calls.length < 1) await new Promise(setImmediate);
    const others = [ask(gateway.port, path), ask(gateway.port, path)];
    const refused = await Promise.race(others);
    expect(refused).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    release();
    expect((await Promise.all([first, ...others])).map(({ status }) => status).sort()).toEqual([200, 200, 503]);
  });
});

describe("failures", () => {
  test("before the first byte become a status, after it the connection is cut", async () => {
    // B22
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    const post = () => ask(gateway.port, "/a/git-upload-pack", { headers: uploadPack, body: "x" });
    smartHttp.refuse = new CodedError("store_unavailable", "the object store does not answer", {}, { retryAfterMs: 2000 });
    expect(await post()).toMatchObject({ status: 503, headers: { "retry-after": "2" }, body: "the object store does not answer\n" });
    smartHttp.refuse = new Error("/secret/path");
    expect(await post()).toMatchObject({ status: 500, body: "internal error\n" });
    smartHttp.refuse = undefined;
    // biome-ignore lint/correctness/useYield: fails before its first byte
    smartHttp.answer = async function* () {
      throw new CodedError("git_failed", "upload-pack failed");
    };
    expect(await post()).toMatchObject({ status: 500, body: "internal error\n" });
    smartHttp.answer = async function* () {
      yield Buffer.from("PACK");
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new CodedError("git_failed", "upload-pack failed");
    };
    const answer = await raw(
      gateway.port,
      `POST /a/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Type: ${uploadPack["Content-Type"]}\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/PACK\r\n$/);
    expect(answer).not.toContain("\r\n0\r\n");
  });

  test("what a client sends amiss behind its request is never answered in the middle of the pack", async () => {
    // B22
    const smartHttp = new EchoSmartHttp();
    smartHttp.answer = async function* (call) {
      yield Buffer.from("PACK");
      await new Promise((_resolve, reject) => call.request.signal.addEventListener("abort", () => reject(call.request.signal.reason)));
    };
    await using gateway = await startGateway(smartHttp);
    const socket = connect(gateway.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", () => {});
    const closed = once(socket, "close");
    socket.write("GET /a/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!answer.includes("PACK")) await once(socket, "data");
    socket.write("\0\0nonsense\r\n\r\n");
    await closed;
    expect(answer).toMatch(/PACK\r\n$/);
  });

  test("a refusal in the middle of a large upload can be read, and the connection is used again", async () => {
    const smartHttp = new EchoSmartHttp();
    smartHttp.refuse = new CodedError("repository_not_found", "repository not found");
    await using gateway = await startGateway(smartHttp);
    const socket = connect(gateway.port, "127.0.0.1");
    const head = (length: number) =>
      `POST /a/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Type: ${receivePack["Content-Type"]}\r\nContent-Length: ${length}\r\n\r\n`;
    socket.write(head(5_000_000));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    while (!answer.includes("gitaly repo create a")) await once(socket, "data");
    socket.write(Buffer.alloc(5_000_000));
    answer = "";
    socket.write(head(0));
    while (!answer.includes("gitaly repo create a")) await once(socket, "data");
    socket.destroy();
  });

  test("when the client goes, the service is told", async () => {
    const smartHttp = new EchoSmartHttp();
    let seen: AbortSignal | undefined;
    smartHttp.answer = async function* (call) {
      seen = call.request.signal;
      yield Buffer.from("PACK");
      await new Promise((_resolve, reject) => call.request.signal.addEventListener("abort", () => reject(call.request.signal.reason)));
    };
    await using gateway = await startGateway(smartHttp);
    const socket = connect(gateway.port, "127.0.0.1");
    socket.write(get("/a/info/refs?service=git-upload-pack"));
    await once(socket, "data");
    socket.destroy();
    await once(seen as AbortSignal, "abort");
    expect(seen?.reason).toMatchObject({ code: "cancelled" });
  });
});

describe("bodies", () => {
  const post = (port: number, body: Buffer, encoding: string) =>
    ask(port, "/a/git-upload-pack", { headers: { ...uploadPack, "Content-Encoding": encoding }, body });

  test("are inflated from gzip and x-gzip, and nothing else", async () => {
    // B113
    await using gateway = await startGateway(new EchoSmartHttp());
    const text = "0032want\n".repeat(10_000);
    expect(await post(gateway.port, gzipSync(text), "gzip")).toMatchObject({ status: 200, body: text });
    expect(await post(gateway.port, gzipSync(text), "x-gzip")).toMatchObject({ status: 200, body: text });
    expect(await post(gateway.port, Buffer.from("x"), "br")).toMatchObject({ status: 400 });
    expect(await post(gateway.port, Buffer.from("not gzip"), "gzip")).toMatchObject({
      status: 400,
      body: "request body is not valid gzip\n",
    });
    expect(await post(gateway.port, gzipSync(text).subarray(0, 20), "gzip")).toMatchObject({ status: 400 });
  });

  test("that would inflate beyond the limit are refused", async () => {
    const smartHttp = new EchoSmartHttp();
    smartHttp.answer = async function* (_call, body) {
      let size = 0;
      for await (const chunk of body) size += chunk.length;
      yield Buffer.from(String(size));
    };
    await using gateway = await startGateway(smartHttp, { maxInflatedBytes: 1_000_000 });
    expect(await post(gateway.port, gzipSync(Buffer.alloc(900_000)), "gzip")).toMatchObject({ status: 200, body: "900000" });
    expect(await post(gateway.port, gzipSync(Buffer.alloc(50_000_000)), "gzip")).toMatchObject({ status: 413 });
  });

  test("may be chunked, may wait for 100-continue, and may pause", async () => {
    // B114
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp);
    const socket = connect(gateway.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    const until = async (text: string) => {
      while (!answer.includes(text)) await once(socket, "data");
    };
    socket.write(
      `POST /a/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Type: ${receivePack["Content-Type"]}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
    );
    await until("100 Continue");
    socket.write("5\r\nfirst\r\n");
    await until("first");
    socket.write("6\r\nsecond\r\n0\r\n\r\n");
    await until("second");
    await until("\r\n0\r\n\r\n");
    socket.destroy();
  });

  test("a client that sends or reads nothing for the idle time is cut off; one that waits for us is not", async () => {
    // B114
    const timers: { ms: number; fn: () => void; disposed: boolean }[] = [];
    const clock: Clock = {
      ...systemClock,
      timer: (ms, fn) => {
        const timer = { ms, fn, disposed: false };
        timers.push(timer);
        return {
          [Symbol.dispose]: () => {
            timer.disposed = true;
          },
        };
      },
    };
    const running = () => timers.filter(({ disposed }) => !disposed);
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp, { idleTimeoutMs: 120_000 }, { clock });
    const open = async (head: string): Promise<Socket> => {
      const socket = connect(gateway.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(head);
      return socket;
    };
    const headers = `HTTP/1.1\r\nHost: x\r\nContent-Type: ${uploadPack["Content-Type"]}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const sender = await open(`POST /a/git-upload-pack ${headers}`);
    while (running().length === 0) await new Promise(setImmediate);
    expect(running()).toMatchObject([{ ms: 120_000 }]);
    running()[0]?.fn();
    await once(sender, "close");
    timers.length = 0;

    smartHttp.answer = async function* () {
      for (;;) yield Buffer.alloc(1_000_000);
    };
    const reader = await open(get("/a/info/refs?service=git-upload-pack"));
    reader.pause();
    const closed = once(reader, "close");
    while (running().length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    running()[0]?.fn();
    reader.resume();
    await closed;
    timers.length = 0;

    let proceed = () => {};
    smartHttp.answer = async function* () {
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      yield Buffer.from("late");
    };
    const calls = smartHttp.calls.length;
    const waiting = ask(gateway.port, "/a/info/refs?service=git-upload-pack");
    while (smartHttp.calls.length === calls) await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(running()).toEqual([]);
    proceed();
    expect((await waiting).body).toBe("late");
  });
});
