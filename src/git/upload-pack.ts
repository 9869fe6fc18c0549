import { CodedError } from "../base/index.ts";
import { abortOnReturn } from "./abort-on-return.ts";
import { feed } from "./feed.ts";
import type { UploadPackOptions } from "./git.ts";
import { lsRefs } from "./ls-refs.ts";
import { encodePkt, PktReader } from "./pkt-line.ts";
import { PktScanner } from "./pkt-scanner.ts";
import { type GitChild, gitFailed, type ProcessGate } from "./process-gate.ts";
import { protocolVersion } from "./ref-advertisement.ts";
import type { RepositoryView } from "./repository-view.ts";
import { sideBand } from "./side-band.ts";
import type { ChildExit } from "./spawner.ts";
import { untilAborted } from "./until-aborted.ts";

export interface UploadPackLimits {
  /** Bytes of one request; default 128 MiB. */
  readonly maxRequestBytes: number;
}

/** One stateless request of git-upload-pack. */
export class UploadPack {
  readonly #limits: UploadPackLimits;
  readonly #gate: ProcessGate;

  constructor(limits: UploadPackLimits, gate: ProcessGate) {
    this.#limits = limits;
    this.#gate = gate;
  }

  serve(view: RepositoryView, body: AsyncIterable<Uint8Array>, options: UploadPackOptions): AsyncIterable<Uint8Array> {
    return abortOnReturn(options.signal, (signal) => this.#run(view, body, { ...options, signal }));
  }

  async *#run(
    view: RepositoryView,
    body: AsyncIterable<Uint8Array>,
    options: UploadPackOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = new PktReader({ maxBytes: this.#limits.maxRequestBytes }, untilAborted(body, options.signal));
    try {
      const first = await reader.next();
      // An end without a request is how a client says goodbye.
      if (first === undefined || first.type !== "data") return;
      if (protocolVersion(options.gitProtocol) === 2 && /^command=ls-refs\n?$/.test(first.payload.toString("latin1"))) {
        yield await answerLsRefs(view, reader);
        await reader.drain(this.#limits.maxRequestBytes);
      } else {
        yield* this.#runChild(view, this.#withFirst(first.payload, reader), options);
      }
    } finally {
      reader.close();
    }
  }

  async *#withFirst(first: Buffer, reader: PktReader): AsyncGenerator<Uint8Array, void, undefined> {
    yield encodePkt(first);
    let seenBytes = 0;
    for await (const chunk of reader.rest()) {
      seenBytes += chunk.length;
      if (seenBytes > this.#limits.maxRequestBytes) {
        throw new CodedError("limit_exceeded", "fetch request is too long", { maxBytes: this.#limits.maxRequestBytes });
      }
      yield chunk;
    }
  }

  async *#runChild(
    view: RepositoryView,
    request: AsyncIterable<Uint8Array>,
    { gitProtocol, signal }: UploadPackOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const directories = await view.snapshot(signal);
    const version = protocolVersion(gitProtocol);
    const conversation = new Conversation(version);
    await using child = await this.#gate.start(
      {
        command: "upload-pack",
        flags: ["--stateless-rpc", "--strict"],
        path: directories.gitDir,
        directories,
        ...(version > 0 ? { protocol: gitProtocol } : {}),
      },
      signal,
    );
    const feeding = feedRequest(request, child, conversation);
    let sentBytes = 0;
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      conversation.answer.push(chunk);
      sentBytes += chunk.length;
      yield chunk;
    }
    const exit = await child.exited;
    signal.throwIfAborted();
    const feedError = await feeding;
    if (feedError !== undefined) throw feedError;
    if (exit.code === 0 || conversation.endIsNormal(sentBytes)) return;
    const failure = gitFailed("upload-pack", exit);
    yield* conversation.lastWords(sentBytes, failureText(exit));
    throw failure;
  }
}

async function answerLsRefs(view: RepositoryView, reader: PktReader): Promise<Uint8Array> {
  try {
    return await lsRefs(view, reader);
  } catch (error) {
    const text = CodedError.is(error, "protocol_error") ? error.fields["clientText"] : undefined;
    if (typeof text !== "string") throw error;
    return encodePkt(`ERR ${text.slice(0, 1000)}`);
  }
}

/** What went wrong with the request itself; undefined where all of it was read or the child had enough. */
async function feedRequest(request: AsyncIterable<Uint8Array>, child: GitChild, conversation: Conversation): Promise<unknown> {
  const source = request[Symbol.asyncIterator]();
  const watched: AsyncIterator<Uint8Array> = {
    next: async () => {
      const result = await source.next();
      if (!result.done) conversation.request.push(result.value);
      return result;
    },
  };
  const result = await feed(watched, child.stdin, child.exited);
  source.return?.().catch(() => {});
  // The child cannot finish a request whose rest will never come.
  if (result.error !== undefined) child.stdin.end();
  return result.error;
}

function failureText(exit: ChildExit): string {
  return exit.code === undefined ? "git upload-pack was ended" : `git upload-pack failed with exit code ${exit.code}`;
}

/** What both sides said so far, as far as it matters for how the answer may end. */
class Conversation {
  readonly #version: 0 | 1 | 2;
  #deepens = false;
  #inPackfile = false;
  #onlyShallow = true;
  #last: "error" | "other" = "other";

  readonly request = new PktScanner((prefix) => {
    if (prefix.startsWith("deepen")) this.#deepens = true;
  });

  readonly answer = new PktScanner((prefix) => {
    if (prefix.startsWith("ERR ") || (this.#inPackfile && prefix.startsWith("\x03"))) this.#last = "error";
    else this.#last = "other";
    if (prefix === "packfile\n") this.#inPackfile = true;
    if (!/^(un)?shallow /.test(prefix)) this.#onlyShallow = false;
  });

  constructor(version: 0 | 1 | 2) {
    this.#version = version;
  }

  /**
   * Whether a child's failure is part of the protocol: before v2 a client that asked for a depth leaves after the shallow lines, and an error
   * packet outside the pack tells the client everything.
   */
  endIsNormal(sentBytes: number): boolean {
    if (sentBytes === 0) return false;
    if (this.#last === "error" && !this.#inPackfile && this.answer.atBorder) return true;
    return this.#version < 2 && this.#deepens && this.#onlyShallow && this.answer.atBorder;
  }

  /** A message in the protocol's own form, where it is certain that one may stand here. */
  *lastWords(sentBytes: number, text: string): Generator<Uint8Array, void, undefined> {
    if (this.#version < 2 || sentBytes === 0 || this.#last === "error" || !this.answer.atBorder) return;
    if (this.#inPackfile) yield* sideBand(3, text);
    else yield encodePkt(`ERR ${text}`);
  }
}
