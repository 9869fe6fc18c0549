import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { listenOnFree } from "../../../src/server/free-port.ts";
import { settleGrpcPort, wantedAddress } from "../../../src/server/listeners.ts";

const taken = new Set<number>();
const inUse = () => Promise.reject(new Error("cannot listen", { cause: Object.assign(new Error("in use"), { code: "EADDRINUSE" }) }));
const listen = (_host: string, port: number) => (taken.has(port) ? inUse() : Promise.resolve(port));
const wanted = (port: number, explicit = false) => ({ host: "127.0.0.1", port, explicit });
const servers: Server[] = [];
afterEach(() => {
  taken.clear();
  for (const server of servers.splice(0)) server.close();
});

test("a default port that is taken, or where a peer is expected, gives way to the next free one", async () => {
  taken.add(8075).add(8076);
  expect(await listenOnFree("grpc", wanted(8075), new Set([8077]), listen)).toBe(8078);
});

test("a port that was given is that one, also where a peer is expected, or an error", async () => {
  expect(await listenOnFree("grpc", wanted(8075, true), new Set([8075]), listen)).toBe(8075);
  taken.add(8075);
  await expect(listenOnFree("grpc", wanted(8075, true), new Set(), listen)).rejects.toMatchObject({
    code: "failed_precondition",
    fields: { listener: "grpc", address: "127.0.0.1:8075" },
  });
});

test("the search ends, and an error that is none of the port's passes through", async () => {
  await expect(listenOnFree("grpc", wanted(8075), new Set(), inUse)).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(listenOnFree("grpc", wanted(65_535), new Set(), inUse)).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(listenOnFree("grpc", wanted(80), new Set(), () => Promise.reject(new Error("denied")))).rejects.toThrow("denied");
});

test("a port of an earlier start is wanted again, unless another one was given or a peer is expected there", () => {
  const configured = { host: "127.0.0.1", port: 8075, explicit: false };
  expect(wantedAddress(configured, 9000, new Set())).toEqual(wanted(9000));
  expect(wantedAddress(configured, 9000, new Set([9000]))).toEqual(wanted(8075));
  expect(wantedAddress({ ...configured, explicit: true }, 9000, new Set())).toEqual(wanted(8075, true));
});

test("the port that a name hangs on is one that can be listened on, and is free again", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const settled = await settleGrpcPort(wanted(port), new Set());
  expect(settled).toBeGreaterThan(port);
  expect(await settleGrpcPort(wanted(settled, true), new Set())).toBe(settled);
});
