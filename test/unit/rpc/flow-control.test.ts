import type { Server } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { flowControl } from "../../../src/rpc/flow-control.ts";

test("a grpc-js without the fields is left as it is", () => {
  expect(flowControl({} as Server, 1024)).toBeUndefined();
});

test("settings that are there already are kept", () => {
  const server = { commonServerOptions: { settings: { maxConcurrentStreams: 7 } }, http2Servers: new Map() };
  flowControl(server as unknown as Server, 1024)?.streams();
  expect(server.commonServerOptions.settings).toEqual({ maxConcurrentStreams: 7, initialWindowSize: 1024 });
});
