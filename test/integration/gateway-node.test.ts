import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { EchoSmartHttp } from "../support/echo-smart-http.ts";
import { ask } from "../support/http-ask.ts";
import { memberInfo, memberView } from "../support/member-view.ts";
import { makeGateway, startGateway } from "../support/start-gateway.ts";

const uploadPack = { "Content-Type": "application/x-git-upload-pack-request" };

describe("redirects", () => {
  const b = memberInfo("b", { httpUrl: "http://10.0.0.2:8076" });
  const view = () => memberView("a", [memberInfo("a"), b], ["b"]);
  const target = "/g/a%20b.git/info/refs?service=git-upload-pack";

  test("an anonymous info/refs goes to the owner with the same tail; every other request is served where it lands", async () => {
    const smartHttp = new EchoSmartHttp();
    await using gateway = await startGateway(smartHttp, {}, { view });
    const { port } = gateway;
    const location = "http://10.0.0.2:8076/-/hop/1/g/a%20b.git/info/refs?service=git-upload-pack";
    expect(await ask(port, target)).toMatchObject({ status: 307, headers: { location, "gitaly-node": "a" } });
    expect(smartHttp.calls).toEqual([]);
    expect(await ask(port, "/g/a/info/refs?service=git-receive-pack&x=1")).toMatchObject({
      status: 307,
      headers: { location: "http://10.0.0.2:8076/-/hop/1/g/a/info/refs?service=git-receive-pack" },
    });
    expect(await ask(port, `/-/hop/1${target}`)).toMatchObject({ status: 200 });
    expect(await ask(port, target, { headers: { "Gitaly-Redirect": "never" } })).toMatchObject({ status: 200 });
    expect(await ask(port, target, { headers: { Authorization: "Basic eDp5" } })).toMatchObject({ status: 200 });
    expect(await ask(port, "/a/git-upload-pack", { headers: uploadPack, body: "x" })).toMatchObject({ status: 200 });
  });

  test("none where the configuration says relay", async () => {
    await using gateway = await startGateway(new EchoSmartHttp(), { http: "relay" }, { view });
    expect(await ask(gateway.port, target)).toMatchObject({ status: 200 });
  });
});

describe("the node's own routes", () => {
  test("health, readiness and metrics", async () => {
    let ready = { ready: false, reason: "warming" };
    await using gateway = await startGateway(new EchoSmartHttp(), {}, { ready: () => ready });
    const { port } = gateway;
    expect(await ask(port, "/-/health")).toMatchObject({ status: 200, body: "ok\n", headers: { "gitaly-node": "a" } });
    expect(await ask(port, "/-/ready")).toMatchObject({ status: 503, body: '{"ready":false,"reason":"warming"}' });
    ready = { ready: true, reason: "" };
    expect(await ask(port, "/-/ready")).toMatchObject({ status: 200 });
    const metrics = await ask(port, "/metrics");
    expect(metrics).toMatchObject({ status: 200 });
    expect(metrics.body).toContain("gitaly_cluster_http_requests_in_flight");
    expect(await ask(port, "/-/health", { method: "POST", body: "x" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    expect(await ask(port, "/-/health", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    expect(await ask(port, "/-/ready", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    expect(await ask(port, "/-/none", { method: "HEAD" })).toMatchObject({ status: 404 });
    expect(await ask(port, "/-/none")).toMatchObject({ status: 404 });
  });

  test("metrics may be elsewhere, and other parts may add routes", async () => {
    await using gateway = await startGateway(
      new EchoSmartHttp(),
      { metricsRoute: false },
      {
        extraRoutes: (app) => {
          app.get("/primary", async () => ({ ok: true }));
          app.get("/broken", async () => {
            throw new Error("/secret");
          });
        },
      },
    );
    expect(await ask(gateway.port, "/metrics")).toMatchObject({ status: 404 });
    expect(await ask(gateway.port, "/primary?server=x")).toMatchObject({ status: 200, body: '{"ok":true}' });
    expect(await ask(gateway.port, "/broken")).toMatchObject({ status: 500, body: "internal error\n" });
  });
});

describe("the end", () => {
  test("closing lets a running answer finish, refuses new connections, and ends at once when told", async () => {
    const smartHttp = new EchoSmartHttp();
    let proceed = () => {};
    smartHttp.answer = async function* () {
      yield Buffer.from("one ");
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      yield Buffer.from("two");
    };
    const gateway = await startGateway(smartHttp);
    const idle = connect(gateway.port, "127.0.0.1");
    await once(idle, "connect");
    const path = "/a/info/refs?service=git-upload-pack";
    const running = ask(gateway.port, path);
    while (smartHttp.calls.length < 1) await new Promise(setImmediate);
    await new Promise(setImmediate);
    const closing = gateway.close(new AbortController().signal);
    await expect(ask(gateway.port, path)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    proceed();
    expect(await running).toMatchObject({ status: 200, body: "one two" });
    await closing;
    expect(gateway.address).toBeUndefined();
    await gateway.destroy();
    idle.destroy();
  });

  test("destroying cuts a running answer off and waits for its service", async () => {
    const smartHttp = new EchoSmartHttp();
    let ended = false;
    smartHttp.answer = async function* (call) {
      try {
        yield Buffer.from("one");
        await new Promise((_resolve, reject) => call.request.signal.addEventListener("abort", () => reject(call.request.signal.reason)));
      } finally {
        ended = true;
      }
    };
    const gateway = await startGateway(smartHttp);
    const running = ask(gateway.port, "/a/info/refs?service=git-upload-pack");
    const cut = expect(running).rejects.toMatchObject({ code: "ECONNRESET" });
    while (smartHttp.calls.length < 1) await new Promise(setImmediate);
    await new Promise(setImmediate);
    await gateway.destroy();
    await cut;
    expect(ended).toBe(true);
  });

  test("a port that is taken is an error that leaves the gateway usable", async () => {
    await using first = await startGateway(new EchoSmartHttp());
    const taken = { host: "127.0.0.1", port: first.port };
    expect(first.address).toEqual(taken);
    await using second = await makeGateway(new EchoSmartHttp());
    await expect(second.listen(taken)).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(second.address).toBeUndefined();
    const { port } = await second.listen({ ...taken, port: 0 });
    expect(await ask(port, "/-/health")).toMatchObject({ status: 200 });
  });
});
