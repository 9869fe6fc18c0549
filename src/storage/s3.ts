import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { CodedError } from "../base/index.ts";
import {
  type CreateResult,
  checkListRequest,
  checkStoreKey,
  continueAfter,
  type ListedObject,
  type ListPage,
  type ListRequest,
  type ObjectStore,
  type ObjectStream,
  type PutBody,
} from "./object-store.ts";
import { describeS3Error, isNoSuchKey, isOccupied, isRefusal, translateS3Error } from "./s3-errors.ts";
import type { S3Location } from "./s3-url.ts";

type Sdk = typeof import("@aws-sdk/client-s3");

const maxSockets = 128;
const maxPutBytes = 5 * 1024 ** 3;

/** Opens a bucket. Makes no request. */
export async function openS3Store(location: S3Location): Promise<S3Store> {
  // The SDK prints a warning about older Node versions from its constructor; what it needs of Node is pinned with its version.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const sdk = await import("@aws-sdk/client-s3");
  const region = location.region ?? (location.endpoint === undefined ? undefined : "us-east-1");
  const client = new sdk.S3Client({
    ...(region === undefined ? {} : { region }),
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint }),
    ...(location.credentials === undefined ? {} : { credentials: location.credentials }),
    forcePathStyle: location.forcePathStyle,
    // A retry inside the SDK would meet its own first attempt as "occupied"; retries are made where that is understood.
    maxAttempts: 1,
    // Many stores refuse the newer checksum headers; integrity comes from the digests in our names.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    expectContinueHeader: false,
    requestHandler: { connectionTimeout: 10_000, httpAgent: { keepAlive: true, maxSockets }, httpsAgent: { keepAlive: true, maxSockets } },
  });
  return new S3Store(location, sdk, client);
}

/** Object storage in an S3 bucket. Each call makes one attempt. */
export class S3Store implements ObjectStore {
  readonly description: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #sdk: Sdk;
  readonly #client: S3Client;

  constructor(location: S3Location, sdk: Sdk, client: S3Client) {
    this.description = `s3://${location.bucket}/${location.prefix}${location.endpoint === undefined ? "" : ` at ${location.endpoint}`}`;
    this.#bucket = location.bucket;
    this.#prefix = location.prefix;
    this.#sdk = sdk;
    this.#client = client;
  }

  async get(key: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    await using stream = await this.open(key, signal);
    if (!stream) return undefined;
    const tooLarge = () => new CodedError("limit_exceeded", "the object is larger than the caller allows", { key, maxBytes });
    if (stream.sizeBytes > maxBytes) throw tooLarge();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of stream.body) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
    if (length !== stream.sizeBytes) {
      const fields = { op: "get", key, expected: stream.sizeBytes, received: length, transient: true };
      throw new CodedError("store_unavailable", "the object store's answer ended early", fields);
    }
    return Buffer.concat(chunks);
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectStream | undefined> {
    try {
      const answer = await this.#client.send(new this.#sdk.GetObjectCommand(this.#at(key)), { abortSignal: signal });
      const body = answer.Body as Readable;
      const onAbort = () => void body.destroy();
      // Without a listener the destruction of an unread body would be an uncaught error.
      body.on("error", () => {});
      if (signal.aborted) onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      const close = async () => {
        signal.removeEventListener("abort", onAbort);
        body.destroy();
      };
      if (answer.ContentLength === undefined) {
        await close();
        throw new CodedError("store_unavailable", "the object store did not say how long the object is", {
          op: "get",
          key,
          transient: true,
        });
      }
      return { sizeBytes: answer.ContentLength, body: translated(body, key, signal), [Symbol.asyncDispose]: close };
    } catch (error) {
      signal.throwIfAborted();
      if (isNoSuchKey(error)) return undefined;
      throw translateS3Error(error, "get", key);
    }
  }

  async put(key: string, body: PutBody, signal: AbortSignal): Promise<void> {
    const target = this.#at(key);
    const sizeBytes = body instanceof Uint8Array ? body.length : body.sizeBytes;
    if (sizeBytes > maxPutBytes) {
      throw new CodedError("limit_exceeded", "a file is larger than 5 GiB, the most one S3 request can store", { key, sizeBytes });
    }
    const source = body instanceof Uint8Array ? undefined : createReadStream(body.file, { highWaterMark: 256 * 1024 });
    source?.on("error", () => {});
    try {
      const input = { ...target, Body: source ?? (body as Uint8Array), ContentLength: sizeBytes };
      await this.#client.send(new this.#sdk.PutObjectCommand(input), { abortSignal: signal });
    } catch (error) {
      signal.throwIfAborted();
      throw translateS3Error(error, "put", key);
    } finally {
      source?.destroy();
    }
  }

  async createIfAbsent(key: string, body: Uint8Array, signal: AbortSignal): Promise<CreateResult> {
    const input = { ...this.#at(key), Body: body, ContentLength: body.length, IfNoneMatch: "*" };
    signal.throwIfAborted();
    try {
      await this.#client.send(new this.#sdk.PutObjectCommand(input), { abortSignal: signal });
      return { outcome: "created" };
    } catch (error) {
      if (isOccupied(error)) return { outcome: "occupied" };
      return { outcome: "unknown", detail: signal.aborted ? "no answer in time" : describeS3Error(error), refused: isRefusal(error) };
    }
  }

  async list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    const maxKeys = checkListRequest(request);
    try {
      const answer = await this.#client.send(
        new this.#sdk.ListObjectsV2Command({
          Bucket: this.#bucket,
          Prefix: this.#prefix + request.prefix,
          MaxKeys: maxKeys,
          ...(request.startAfter ? { StartAfter: this.#prefix + request.startAfter } : {}),
          ...(request.delimiter ? { Delimiter: request.delimiter } : {}),
        }),
        { abortSignal: signal },
      );
      const objects: ListedObject[] = (answer.Contents ?? []).map((found) => ({
        key: this.#relative(found.Key),
        sizeBytes: found.Size ?? 0,
        lastModifiedMs: found.LastModified?.getTime() ?? 0,
      }));
      const prefixes = (answer.CommonPrefixes ?? []).map((found) => this.#relative(found.Prefix));
      const next = answer.IsTruncated ? continueAfter(objects.at(-1)?.key, prefixes.at(-1)) : undefined;
      if (answer.IsTruncated && next === undefined) {
        throw new CodedError("store_unavailable", "the object store cut a list off before its first entry", {
          op: "list",
          transient: true,
        });
      }
      return { objects, prefixes, next };
    } catch (error) {
      signal.throwIfAborted();
      throw translateS3Error(error, "list", request.prefix);
    }
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.send(new this.#sdk.DeleteObjectCommand(this.#at(key)), { abortSignal: signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isNoSuchKey(error)) throw translateS3Error(error, "delete", key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    checkStoreKey(key);
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }

  #relative(key: string | undefined): string {
    if (key?.startsWith(this.#prefix)) return key.slice(this.#prefix.length);
    throw new CodedError("store_unavailable", "the object store listed a key outside of what was asked", { op: "list" });
  }
}

async function* translated(body: Readable, key: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw translateS3Error(error, "get", key);
  }
  // A destroyed stream may end without an error.
  signal.throwIfAborted();
}
