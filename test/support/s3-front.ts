import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { ObjectStore } from "../../src/storage/index.ts";

/**
 * What an S3 server may do wrong.
 *
 * - `error500` / `error503` / `error409` / `error403`: the answer, nothing applied. `error500AfterCommit`: applied, then 500.
 * - `lostReply`: applied, then the connection is destroyed. `reset`: destroyed before anything is applied.
 * - `shortBody`: a body ends early. `ignoreCondition`: If-None-Match is ignored. `say304`: 304 where S3 says 412.
 * - `error400`: 400 RequestTimeout, nothing applied. `emptyPage`: a list that is cut off before its first entry.
 * - `html404`: a proxy's 404. `noBucket`: 404 NoSuchBucket. `hang`: no answer.
 */
export type S3Fault =
  | "error500"
  | "error503"
  | "error409"
  | "error403"
  | "error400"
  | "emptyPage"
  | "error500AfterCommit"
  | "lostReply"
  | "reset"
  | "shortBody"
  | "ignoreCondition"
  | "say304"
  | "html404"
  | "noBucket"
  | "hang";

export interface S3FrontOptions {
  readonly store: ObjectStore;
  readonly fault?: (method: string, key: string) => S3Fault | undefined;
  /** Answer 501 to checksum headers and streaming trailers, as several stores do. */
  readonly refuseChecksums?: boolean;
}

export interface S3Front extends AsyncDisposable {
  /** With credentials, for `openObjectStore`. */
  readonly url: string;
  readonly endpoint: string;
  /** Open connections. */
  connections(): number;
}

const bucket = "test-bucket";
const never = new AbortController().signal;

/** A small S3 server on loopback over another store: enough of the protocol for the driver, and faults on demand. */
export async function startS3Front(options: S3FrontOptions): Promise<S3Front> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      if (!response.headersSent) sendError(response, 500, "InternalError", String(error));
      else response.destroy();
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    url: `s3://test-key:test-secret@${bucket}/some/prefix?endpoint=${encodeURIComponent(endpoint)}`,
    connections: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

async function answer(options: S3FrontOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "", "http://front");
  const method = request.method ?? "";
  const [, name = "", ...rest] = url.pathname.split("/");
  const key = rest.map(decodeURIComponent).join("/");
  const fault = options.fault?.(method, key);
  if (fault === "hang") return;
  const body = await readBody(request);
  if (fault === "reset") return void request.socket.destroy();
  const checksums = Object.keys(request.headers).filter((header) => /^x-amz-(checksum-|sdk-checksum-|trailer)/.test(header));
  const streaming = /^STREAMING/.test(String(request.headers["x-amz-content-sha256"] ?? ""));
  if (options.refuseChecksums && (checksums.length > 0 || streaming)) return sendError(response, 501, "NotImplemented", checksums.join());
  if (!/^AWS4-HMAC-SHA256 Credential=test-key\//.test(request.headers.authorization ?? "")) return sendError(response, 403, "AccessDenied");
  if (name !== bucket || fault === "noBucket") return sendError(response, 404, "NoSuchBucket");
  if (fault === "html404") return void response.writeHead(404, { "content-type": "text/html" }).end("<html>not here</html>");
  if (fault === "error500") return sendError(response, 500, "InternalError");
  if (fault === "error503") return sendError(response, 503, "SlowDown");
  if (fault === "error409") return sendError(response, 409, "ConditionalRequestConflict");
  if (fault === "error400") return sendError(response, 400, "RequestTimeout");
  if (fault === "error403") return sendError(response, 403, "AccessDenied");
  if (method === "GET" && key === "") return await list(options.store, url.searchParams, fault, response);
  if (method === "GET") return await get(options.store, key, fault, response);
  if (method === "PUT") return await put(options.store, key, body, fault, request, response);
  if (method === "DELETE") {
    await options.store.delete(key, never);
    return void response.writeHead(204).end();
  }
  sendError(response, 405, "MethodNotAllowed");
}

async function get(store: ObjectStore, key: string, fault: S3Fault | undefined, response: ServerResponse): Promise<void> {
  const bytes = await store.get(key, 1024 ** 3, never);
  if (!bytes) return sendError(response, 404, "NoSuchKey");
  response.writeHead(200, { "content-length": bytes.length, "last-modified": new Date(0).toUTCString() });
  if (fault !== "shortBody") return void response.end(bytes);
  response.write(bytes.subarray(0, Math.floor((bytes.length * 6) / 10)), () => response.destroy());
}

async function put(
  store: ObjectStore,
  key: string,
  body: Buffer,
  fault: S3Fault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.headers["content-length"] === undefined) return sendError(response, 411, "MissingContentLength");
  if (request.headers["if-none-match"] === "*" && fault !== "ignoreCondition") {
    const result = await store.createIfAbsent(key, body, never);
    if (result.outcome === "unknown") return sendError(response, 500, "InternalError");
    if (fault === "lostReply") return void request.socket.destroy();
    if (fault === "error500AfterCommit") return sendError(response, 500, "InternalError");
    if (result.outcome === "occupied") {
      return fault === "say304" ? void response.writeHead(304).end() : sendError(response, 412, "PreconditionFailed");
    }
  } else {
    await store.put(key, body, never);
    if (fault === "lostReply") return void request.socket.destroy();
    if (fault === "error500AfterCommit") return sendError(response, 500, "InternalError");
  }
  response.writeHead(200, { etag: '"0"' }).end();
}

async function list(store: ObjectStore, query: URLSearchParams, fault: S3Fault | undefined, response: ServerResponse): Promise<void> {
  if (fault === "emptyPage") return void response.end("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>");
  const startAfter = query.get("start-after");
  const page = await store.list(
    {
      prefix: query.get("prefix") ?? "",
      maxKeys: Number(query.get("max-keys") ?? 1000),
      ...(startAfter === null ? {} : { startAfter }),
      ...(query.get("delimiter") === "/" ? { delimiter: "/" } : {}),
    },
    never,
  );
  const contents = page.objects.map(
    ({ key, sizeBytes, lastModifiedMs }) =>
      `<Contents><Key>${key}</Key><LastModified>${new Date(lastModifiedMs).toISOString()}</LastModified><Size>${sizeBytes}</Size></Contents>`,
  );
  const prefixes = page.prefixes.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`);
  const truncated = `<IsTruncated>${page.next !== undefined}</IsTruncated>`;
  const xml = `<?xml version="1.0"?><ListBucketResult>${truncated}${contents.join("")}${prefixes.join("")}</ListBucketResult>`;
  response.writeHead(200, { "content-type": "application/xml" }).end(xml);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function sendError(response: ServerResponse, status: number, code: string, message = code): void {
  const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  response.writeHead(status, { "content-type": "application/xml", "content-length": Buffer.byteLength(xml) }).end(xml);
}
