import { connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { CodedError } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import type { PostReceivePackRequest__Output } from "../../src/proto/gen/gitaly/PostReceivePackRequest.ts";
import { failureOf } from "../support/failure-of.ts";
import { readAll } from "../support/read-all.ts";
import { startRpcNodes } from "../support/rpc-nodes.ts";
import { toyServices } from "../support/toy-services.ts";

const repository = { storageName: "default", relativePath: "group/project.git" };

// B83
test("a reply above 4 MiB arrives as many small messages", async () => {
  await using cluster = await startRpcNodes(1, toyServices);
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  let count = 0;
  for await (const { references } of client.ref.listRefs({ repository, patterns: [Buffer.from("60")] })) count += references.length;
  expect(count).toBe(60_000);
  const chunk = Buffer.alloc(128 * 1024, 1);
  const body = async function* () {
    yield { repository };
    for (let i = 0; i < 80; i++) yield { data: chunk };
  };
  let bytes = 0;
  for await (const { data } of client.smartHttp.postUploadPack(body())) bytes += data.length;
  expect(bytes).toBe(80 * chunk.length);
});

// B86
test("clients that vanish while the server streams, 100 times, leave nothing behind", async () => {
  const problems: unknown[] = [];
  const onProblem = (problem: unknown) => problems.push(problem);
  process.on("uncaughtException", onProblem);
  process.on("unhandledRejection", onProblem);
  let open = 0;
  const chunk = Buffer.alloc(64 * 1024);
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.SmartHTTPService": {
      PostUploadPack: async function* () {
        open++;
        try {
          for (;;) yield { data: chunk };
        } finally {
          open--;
        }
      },
    },
  }));
  const port = Number(cluster.nodes[0]?.address.split(":")[1]);
  for (let i = 0; i < 100; i++) await vanish(port, i % 2 === 0);
  await expect.poll(() => open, { timeout: 5000 }).toBe(0);
  process.off("uncaughtException", onProblem);
  process.off("unhandledRejection", onProblem);
  expect(problems).toEqual([]);
});

/** Starts a clone through a pipe and cuts the pipe, with or without a reset, once data comes. */
async function vanish(port: number, reset: boolean): Promise<void> {
  const sockets: Socket[] = [];
  const pipe = createServer((inner) => {
    const outer = connect(port, "127.0.0.1");
    for (const socket of [inner, outer]) sockets.push(socket.on("error", () => {}));
    inner.pipe(outer).pipe(inner);
  });
  await new Promise<void>((resolve) => pipe.listen(0, "127.0.0.1", resolve));
  const address = pipe.address();
  await using client = new GitalyClient({ addresses: `127.0.0.1:${typeof address === "object" ? address?.port : 0}` });
  const body = async function* () {
    yield { repository };
  };
  await failureOf(
    (async () => {
      for await (const _message of client.smartHttp.postUploadPack(body())) {
        for (const socket of sockets) reset ? socket.resetAndDestroy() : socket.destroy();
      }
    })(),
  );
  pipe.close();
}

test("a status that comes while the client uploads 100 MB ends the upload", async () => {
  await using cluster = await startRpcNodes(1, () => ({
    "gitaly.SmartHTTPService": {
      // biome-ignore lint/correctness/useYield: it refuses before the first message
      PostReceivePack: async function* (requests: AsyncIterable<PostReceivePackRequest__Output>) {
        let seen = 0;
        for await (const _request of requests) if (++seen === 3) break;
        throw new CodedError("permission_denied", "you may not push");
      },
    },
  }));
  await using client = new GitalyClient({ addresses: cluster.nodes[0]?.address ?? "" });
  const chunk = Buffer.alloc(128 * 1024);
  let sent = 0;
  const body = async function* () {
    yield { repository, glId: "user-1" };
    for (; sent < 800; sent++) yield { data: chunk };
  };
  const error = await failureOf(readAll(client.smartHttp.postReceivePack(body())));
  expect(error.code).toBe("permission_denied");
  expect(error.message).toBe("you may not push");
  expect(sent).toBeLessThan(800);
});
