import { abortable, CodedError } from "../base/index.ts";
import type { GitObject } from "./git.ts";
import type { GitDirectories } from "./git-environment.ts";
import { type GitChild, gitFailed, type ProcessGate } from "./process-gate.ts";

/** What an object is, without its content. */
export interface ObjectInfo {
  readonly oid: string;
  readonly type: GitObject["type"];
  readonly sizeBytes: number;
}

interface Waiting {
  readonly withContent: boolean;
  readonly resolve: (object: GitObject | ObjectInfo | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const maxHeaderBytes = 1024;
/** An object id with peeling and parent suffixes: nothing that git could take for a ref, an option or a second line. */
const safeName = /^[0-9a-f]{4,64}(?:\^[0-9]*|~[0-9]*|\^\{[a-z]*\})*$/;

/** One `git cat-file --batch-command`. Requests may overlap; answers come in their order. */
export class Catfile implements AsyncDisposable {
  readonly #child: GitChild;
  readonly #waiting: Waiting[] = [];
  readonly #reading: Promise<void>;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  /** The answer in front is known to be this long. */
  #neededBytes = 0;
  #ended = false;

  private constructor(child: GitChild) {
    this.#child = child;
    this.#reading = this.#read();
  }

  /** Errors: those of the gate. */
  static async start(
    gate: ProcessGate,
    directories: GitDirectories,
    signal: AbortSignal,
    options: { readonly longLived?: boolean } = {},
  ): Promise<Catfile> {
    return new Catfile(await gate.start({ command: "cat-file", flags: ["--batch-command"], directories, ...options }, signal));
  }

  /** False once the child is gone or has said something that makes no sense. */
  get usable(): boolean {
    return !this.#ended;
  }

  /** Requests without an answer. */
  get pending(): number {
    return this.#waiting.length;
  }

  /** Undefined where `name` names no object, or more than one. Errors: `git_failed`. */
  async info(name: string, signal: AbortSignal): Promise<ObjectInfo | undefined> {
    return await this.#ask("info", name, signal);
  }

  /** The object with its content, which must be small enough for memory: ask for `info` first. */
  async contents(oid: string, signal: AbortSignal): Promise<GitObject | undefined> {
    return (await this.#ask("contents", oid, signal)) as GitObject | undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
    await this.#reading;
  }

  async #ask(verb: "info" | "contents", name: string, signal: AbortSignal): Promise<GitObject | ObjectInfo | undefined> {
    signal.throwIfAborted();
    if (!safeName.test(name)) throw new CodedError("internal", "not an object name", { name });
    if (this.#ended) throw new CodedError("git_failed", "cat-file is gone");
    const answer = new Promise<GitObject | ObjectInfo | undefined>((resolve, reject) => {
      this.#waiting.push({ withContent: verb === "contents", resolve, reject });
    });
    this.#child.stdin.write(`${verb} ${name}\n`);
    // The answer is read in any case: the next one stands behind it.
    return await abortable(answer, signal);
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#chunks.push(chunk);
        this.#bufferedBytes += chunk.length;
        while (this.#takeAnswer());
      }
    } catch {
      // A broken stream is like an ended one.
    }
    this.#ended = true;
    void this.#child[Symbol.asyncDispose]();
    const exit = await this.#child.exited;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(gitFailed("cat-file", exit));
  }

  /** Takes one whole answer off the buffer, if there is one. */
  #takeAnswer(): boolean {
    const waiting = this.#waiting[0];
    if (!waiting || this.#bufferedBytes < this.#neededBytes) return false;
    const buffer = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [buffer];
    const end = buffer.indexOf(0x0a);
    if (end < 0) {
      if (buffer.length > maxHeaderBytes) throw new CodedError("git_failed", "cat-file answers without a line end");
      return false;
    }
    const match = /^([0-9a-f]+) (commit|tree|blob|tag) ([0-9]+)$/.exec(buffer.toString("latin1", 0, end));
    const size = match ? Number(match[3]) : 0;
    const total = end + 1 + (match && waiting.withContent ? size + 1 : 0);
    if (buffer.length < total) {
      this.#neededBytes = total;
      return false;
    }
    this.#neededBytes = 0;
    this.#waiting.shift();
    if (!match) waiting.resolve(undefined);
    else {
      const info: ObjectInfo = { oid: match[1] as string, type: match[2] as GitObject["type"], sizeBytes: size };
      // A copy, so that a small object does not keep a large buffer alive.
      waiting.resolve(waiting.withContent ? { ...info, content: new Uint8Array(buffer.subarray(end + 1, end + 1 + size)) } : info);
    }
    const rest = buffer.subarray(total);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#bufferedBytes = rest.length;
    return rest.length > 0;
  }
}
