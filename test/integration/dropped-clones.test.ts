import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/base/index.ts";
import { GitalyClient } from "../../src/client/index.ts";
import { encodePkt, flushPkt } from "../../src/git/pkt-line.ts";
import { defunctGit, eventually, processesMentioning } from "../support/git-fixture-processes.ts";
import { ServerFixture } from "../support/server-fixture.ts";
import { git } from "../support/stock-git.ts";

const path = "group/app.git";

/** A pipe to a port, that can be cut, with or without a reset. */
async function pipeTo(port: number) {
  const sockets: Socket[] = [];
  const server = createServer((inner) => {
    const outer = connect(port, "127.0.0.1");
    for (const socket of [inner, outer]) sockets.push(socket.on("error", () => {}));
    inner.pipe(outer).pipe(inner);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    cut: (reset: boolean) => {
      for (const socket of sockets) reset ? socket.resetAndDestroy() : socket.destroy();
      server.close();
    },
  };
}

/** Starts a clone over gRPC, and cuts its connection once data comes. */
async function dropGrpc(port: number, body: Buffer, reset: boolean): Promise<void> {
  const pipe = await pipeTo(port);
  await using client = new GitalyClient({ addresses: pipe.address });
  const requests = async function* () {
    yield { repository: { storageName: "default", relativePath: path } };
    yield { data: body };
  };
  const call = client.smartHttp.postUploadPack(requests())[Symbol.asyncIterator]();
  expect((await call.next()).done).toBe(false);
  pipe.cut(reset);
  await expect(readOn(call)).rejects.toThrow();
}

async function readOn(rest: { next(): Promise<{ done?: boolean | undefined }> }): Promise<void> {
  while (!(await rest.next()).done);
}

/** The same over HTTP. */
async function dropHttp(port: number, body: Buffer, reset: boolean): Promise<void> {
  const pipe = await pipeTo(port);
  const headers = { "content-type": "application/x-git-upload-pack-request" };
  const call = request(`http://${pipe.address}/${path}/git-upload-pack`, { method: "POST", headers, agent: false });
  call.on("error", () => {});
  call.end(body);
  const [response] = (await once(call, "response")) as [IncomingMessage];
  const answer = response[Symbol.asyncIterator]();
  expect((await answer.next()).done).toBe(false);
  pipe.cut(reset);
  await expect(readOn(answer)).rejects.toThrow();
}

// B19, B86
test("a hundred clones whose connections break after their first data leave no child, and the node serves on", async () => {
  const problems: unknown[] = [];
  const onProblem = (problem: unknown) => problems.push(problem);
  process.on("uncaughtException", onProblem);
  process.on("unhandledRejection", onProblem);
  await using nodes = await ServerFixture.open();
  const { server, dataDir } = await nodes.start("n1");
  await server.whenReady(neverAborted);
  await using client = new GitalyClient({ addresses: server.info.grpc });
  await client.repository.createRepository({ repository: { storageName: "default", relativePath: path } });
  const work = join(nodes.root, "work");
  await git("init", "-q", "-b", "main", work);
  await writeFile(join(work, "big"), randomBytes(8_000_000));
  await git("-C", work, "add", ".");
  await git("-C", work, "commit", "-q", "-m", "big");
  const url = `http://${server.info.http}/${path}`;
  await git("-C", work, "push", "-q", url, "main");
  const oid = (await git("-C", work, "rev-parse", "HEAD")).trim();

  const body = Buffer.concat([encodePkt(`want ${oid} side-band-64k ofs-delta`), flushPkt, encodePkt("done\n")]);
  const port = (address: string) => Number(address.split(":")[1]);
  // The process that starts git lives as long as the node.
  const children = () => processesMentioning(dataDir).filter((line) => !line.includes("spawner-main"));
  let seen = 0;
  for (let i = 0; i < 25; i++) {
    for (const reset of [true, false]) {
      const dropped = [dropGrpc(port(server.info.grpc), body, reset), dropHttp(port(server.info.http), body, reset)];
      await Promise.race(dropped);
      seen += children().length;
      await Promise.all(dropped);
    }
  }
  expect(seen).toBeGreaterThan(0);
  expect(await eventually(() => children().length === 0, 5000)).toBe(true);
  expect(await eventually(() => defunctGit().length === 0, 5000)).toBe(true);
  await git("clone", "-q", url, join(nodes.root, "clone"));
  expect((await git("-C", join(nodes.root, "clone"), "rev-parse", "HEAD")).trim()).toBe(oid);
  process.off("uncaughtException", onProblem);
  process.off("unhandledRejection", onProblem);
  expect(problems).toEqual([]);
});
