import { constants, type Stats } from "node:fs";
import { copyFile, link, mkdir, open, readdir, rename, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { LRUCache } from "lru-cache";
import { type Clock, CodedError, errnoOf, type Random, randomHex } from "../base/index.ts";
import { fileOfKey, tempDirName } from "./filesystem-layout.ts";
import { walk } from "./filesystem-walk.ts";
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

export interface FilesystemStoreOptions {
  /** Made where it does not exist. Everything below it belongs to the store and must lie on one filesystem. */
  readonly directory: string;
  /** Temporary files untouched for this long are removed at open. Default 3,600,000 (1 h). */
  readonly staleTempMs?: number;
}

export interface FilesystemStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** Opens (and makes) a directory as an object store. Errors: `store_unavailable`. */
export async function openFilesystemStore(options: FilesystemStoreOptions, deps: FilesystemStoreDeps): Promise<FilesystemStore> {
  const directory = resolve(options.directory);
  try {
    const made = await makeRoot(join(directory, tempDirName));
    await syncParents(directory, made ?? directory);
    const store = new FilesystemStore(directory, await stat(directory), deps);
    await sweepTemp(join(directory, tempDirName), deps.clock.now() - (options.staleTempMs ?? 3_600_000));
    return store;
  } catch (error) {
    // Here something is in the way of the directory itself, not of a key.
    const { code, message, fields } = translate(errnoOf(error) === "ENOTDIR" ? undefined : error, "open");
    throw new CodedError(code, message, { ...fields, answer: errnoOf(error), setting: "object_storage.url" }, { cause: error });
  }
}

/**
 * Object storage in a directory, with the same contract as the others: an object is written to a temporary file, fsynced, then linked
 * (create-only) or renamed into place, and its directory is fsynced before the answer. Any number of processes may share it.
 */
export class FilesystemStore implements ObjectStore {
  readonly description: string;
  readonly #root: string;
  readonly #identity: Stats;
  readonly #random: Random;
  /** Directory -> which one of that name this process has made durable, with the whole chain up to the root. */
  readonly #durable = new LRUCache<string, string>({ max: 10_000 });

  constructor(root: string, identity: Stats, deps: Pick<FilesystemStoreDeps, "random">) {
    this.#root = root;
    this.#identity = identity;
    this.#random = deps.random;
    this.description = `file://${root}`;
  }

  async get(key: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    await using stream = await this.open(key, signal);
    if (!stream) return undefined;
    if (stream.sizeBytes > maxBytes) {
      throw new CodedError("limit_exceeded", "the object is larger than the caller allows", { key, sizeBytes: stream.sizeBytes, maxBytes });
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream.body) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectStream | undefined> {
    checkStoreKey(key);
    signal.throwIfAborted();
    try {
      const handle = await open(fileOfKey(this.#root, key), "r");
      const sizeBytes = (
        await handle.stat().catch(async (error: unknown) => {
          await handle.close();
          throw error;
        })
      ).size;
      const body = handle.createReadStream({ autoClose: true, highWaterMark: 256 * 1024, signal });
      // The reader sees failures through the iteration; without a listener an unread stream's abort would end the process.
      body.on("error", () => {});
      const closed = new Promise<void>((done) => void body.once("close", done));
      return {
        sizeBytes,
        body: translated(body, signal),
        [Symbol.asyncDispose]: async () => {
          body.destroy();
          await closed;
        },
      };
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") {
        await this.#checkRoot();
        return undefined;
      }
      throw translate(error, "get", key);
    }
  }

  async put(key: string, body: PutBody, signal: AbortSignal): Promise<void> {
    checkStoreKey(key);
    await this.#place(key, body, signal, async (temp, file) => await rename(temp, file));
  }

  async createIfAbsent(key: string, body: Uint8Array, signal: AbortSignal): Promise<CreateResult> {
    checkStoreKey(key);
    let linked = false;
    try {
      await this.#place(key, body, signal, async (temp, file) => {
        await link(temp, file);
        linked = true;
        await unlink(temp);
      });
      return { outcome: "created" };
    } catch (error) {
      if (CodedError.is(error) && error.fields["errno"] === "EEXIST") {
        // What this answer rests on must not vanish in a crash after it.
        await this.#makeDurable(dirname(fileOfKey(this.#root, key))).catch((failure: unknown) => {
          throw translate(failure, "create", key);
        });
        return { outcome: "occupied" };
      }
      if (!linked) throw error;
      return { outcome: "unknown", detail: String((error as CodedError).fields["errno"] ?? "failed after the link"), refused: false };
    }
  }

  async list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    const maxKeys = checkListRequest(request);
    const { prefix, startAfter = "", delimiter } = request;
    const objects: ListedObject[] = [];
    const prefixes: string[] = [];
    try {
      for await (const { key, file } of walk(this.#root, "", { prefix, after: startAfter, fold: delimiter !== undefined })) {
        signal.throwIfAborted();
        if (objects.length + prefixes.length === maxKeys) {
          return { objects, prefixes, next: continueAfter(objects.at(-1)?.key, prefixes.at(-1)) };
        }
        if (file === undefined) prefixes.push(key);
        else {
          const found = await stat(file).catch(ignoreMissing);
          if (found) objects.push({ key, sizeBytes: found.size, lastModifiedMs: found.mtimeMs });
        }
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw translate(error, "list", prefix);
    }
    await this.#checkRoot();
    return { objects, prefixes, next: undefined };
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    checkStoreKey(key);
    signal.throwIfAborted();
    let dir = fileOfKey(this.#root, key);
    try {
      await unlink(dir).catch(ignoreMissing);
      for (dir = dirname(dir); dir !== this.#root; dir = dirname(dir)) await rmdir(dir);
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(errno)) throw translate(error, "delete", key);
    }
    await this.#checkRoot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#durable.clear();
  }

  /** Writes a temporary file and moves it to its place, both durably. */
  async #place(key: string, body: PutBody, signal: AbortSignal, move: (temp: string, file: string) => Promise<void>): Promise<void> {
    signal.throwIfAborted();
    const file = fileOfKey(this.#root, key);
    const temp = join(this.#root, tempDirName, `${process.pid}.${randomHex(this.#random, 12)}`);
    try {
      await writeTemp(temp, body);
      signal.throwIfAborted();
      await this.#checkRoot();
      for (let attempt = 1; ; attempt++) {
        try {
          await move(temp, file);
          break;
        } catch (error) {
          // A deleter may remove the directory while it is empty.
          if (errnoOf(error) !== "ENOENT" || attempt === 10) throw error;
          await makeDirs(dirname(file));
        }
      }
      await this.#makeDurable(dirname(file));
    } catch (error) {
      if (error === signal.reason) throw error;
      throw translate(error, "put", key);
    } finally {
      await unlink(temp).catch(() => {});
    }
  }

  async #makeDurable(dir: string): Promise<void> {
    const which = await fsyncDir(dir);
    // Another process may have removed it while it was empty; its successor's name is not on disk yet.
    if (this.#durable.get(dir) === which) return;
    for (let parent = dir; parent !== this.#root; ) {
      parent = dirname(parent);
      await fsyncDir(parent);
    }
    this.#durable.set(dir, which);
  }

  /** A missing or exchanged directory (say, a disk that is not mounted) must not read as an empty store. */
  async #checkRoot(): Promise<void> {
    const found = await stat(this.#root).catch(() => undefined);
    if (found?.ino === this.#identity.ino && found.dev === this.#identity.dev) return;
    throw new CodedError("store_unavailable", "the object store's directory is gone or another one", { store: this.description });
  }
}

async function writeTemp(temp: string, body: PutBody): Promise<void> {
  if (body instanceof Uint8Array) {
    await using handle = await open(temp, "wx", 0o600);
    await handle.writeFile(body);
    await handle.sync();
    return;
  }
  await copyFile(body.file, temp, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  // The copy has the mode of its source, and git's packs are read-only.
  await using handle = await open(temp, "r");
  await handle.sync();
  const { size } = await handle.stat();
  if (size !== body.sizeBytes) throw new CodedError("internal", "the file to store changed its size", { expected: body.sizeBytes, size });
}

async function makeDirs(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    // Not to be taken for an occupied slot.
    if (errnoOf(error) === "EEXIST") throw new CodedError("invalid_argument", "the key lies below another key", {});
    throw error;
  });
}

/** Makes a directory's entries durable; returns what tells it from others that had or will have its name. */
async function fsyncDir(dir: string): Promise<string> {
  await using handle = await open(dir, "r");
  await handle.sync();
  const { ino, birthtimeNs } = await handle.stat({ bigint: true });
  return `${ino}.${birthtimeNs}`;
}

/** Makes the names of `directory` and of its ancestors durable, up to `made`, the topmost that is new. */
/**
 * The first directory that was made, if any. Node's own recursive mkdir tries for ever where a file system answers that a
 * directory does not exist although its parent does, as the kernel's do.
 */
async function makeRoot(dir: string): Promise<string | undefined> {
  const make = () =>
    mkdir(dir, { mode: 0o700 }).then(
      () => dir,
      (error: unknown) => {
        if (errnoOf(error) !== "EEXIST") throw error;
        return undefined;
      },
    );
  try {
    return await make();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || dir === dirname(dir)) throw error;
    const first = await makeRoot(dirname(dir));
    const own = await make();
    return first ?? own;
  }
}

async function syncParents(directory: string, made: string): Promise<void> {
  for (let dir = directory; dir !== dirname(dir); dir = dirname(dir)) {
    await fsyncDir(dirname(dir)).catch((error: unknown) => {
      // Who may not read the parent did not make this directory there just now.
      if (errnoOf(error) !== "EACCES") throw error;
    });
    if (dir.length <= made.length) return;
  }
}

async function sweepTemp(dir: string, olderThanMs: number): Promise<void> {
  for (const name of await readdir(dir)) {
    const found = await stat(join(dir, name)).catch(ignoreMissing);
    if (found && found.mtimeMs < olderThanMs) await unlink(join(dir, name)).catch(ignoreMissing);
  }
}

async function* translated(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw translate(error, "get");
  }
}

function ignoreMissing(error: unknown): undefined {
  if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
  throw error;
}

/** Local paths stay out of errors: they reach clients. */
function translate(error: unknown, op: string, key?: string): CodedError {
  if (CodedError.is(error)) return error;
  const errno = errnoOf(error);
  const fields = { op, ...(key === undefined ? {} : { key }), errno };
  if (errno === "ENOSPC" || errno === "EDQUOT" || errno === "EFBIG") {
    return new CodedError("limit_exceeded", "the object store's disk is full", fields, { retryAfterMs: 10_000 });
  }
  if (errno === "EISDIR" || errno === "ENOTDIR") return new CodedError("invalid_argument", "the key is a directory of other keys", fields);
  const refused = errno === "EROFS" || errno === "EACCES" || errno === "EPERM";
  return new CodedError("store_unavailable", "the object store's directory cannot be used", {
    ...fields,
    answer: errno,
    ...(refused ? { refused } : {}),
  });
}
