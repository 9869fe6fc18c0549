import type { Client, ClientDuplexStream, Metadata, ServiceError, StatusObject } from "@grpc/grpc-js";
import { abortable, type Clock, CodedError, linkSignals, readMessages, sharedAbortController, writeMessage } from "../base/index.ts";
import type { ClientMethod } from "./client-method.ts";

const callOver = new CodedError("cancelled", "the call is over");

/** One try of a call at one node. On the wire all shapes are alike: messages, then the end, in both directions. */
export class Attempt implements Disposable {
  /** Header of the response, once there is one. */
  header: Metadata | undefined;
  /** Trailer of the response, once it has ended. */
  trailer: Metadata | undefined;
  readonly #call: ClientDuplexStream<object, object>;
  readonly #ended: Promise<ServiceError | undefined>;
  #isOver = false;
  #onOver = () => {};
  readonly #answered: Promise<void>;

  constructor(client: Client, method: ClientMethod, metadata: Metadata, deadline: Date) {
    const { path, requestSerialize, responseDeserialize } = method.definition;
    this.#call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, { deadline });
    let failure: ServiceError | undefined;
    this.#ended = new Promise((resolve) => {
      this.#call.on("error", (error: Error) => {
        failure = error as ServiceError;
      });
      this.#call.once("status", ({ metadata }: StatusObject) => {
        this.#isOver = true;
        this.trailer = metadata;
        this.#onOver();
        resolve(failure);
      });
    });
    this.#answered = new Promise((resolve) => {
      this.#call.once("metadata", (header: Metadata) => {
        this.header = header;
        resolve();
      });
      this.#call.once("status", () => resolve());
    });
  }

  /** Sends the message that everything is decided from; `last` also ends the request. */
  sendFirst(message: object, last: boolean): void {
    this.#call.write(message);
    if (last) this.#call.end();
  }

  /**
   * Waits until a node has the call, or it has ended.
   *
   * @returns the failure of a call that ended so. Errors: `deadline_exceeded` after `timeoutMs`, or the signal's reason.
   */
  async accepted(clock: Clock, timeoutMs: number, signal: AbortSignal): Promise<ServiceError | undefined> {
    let onLate = () => {};
    const late = new Promise<never>((_, reject) => {
      onLate = () => reject(new CodedError("deadline_exceeded", "deadline passed", { afterMs: timeoutMs }));
    });
    using _timer = clock.timer(timeoutMs, onLate);
    await abortable(Promise.race([this.#answered, late]), signal);
    return this.header ? undefined : await this.#ended;
  }

  /** Sends the rest of a request stream, and its end. Stops without an error where the call ends first. */
  async sendRest(messages: AsyncIterator<object>, signal: AbortSignal): Promise<void> {
    const over = sharedAbortController();
    this.#onOver = () => over.abort(callOver);
    if (this.#isOver) this.#onOver();
    using linked = linkSignals(signal, over.signal);
    try {
      for (;;) {
        const { value, done } = await abortable(messages.next(), linked.signal);
        if (done) break;
        await writeMessage(this.#call, value, linked.signal);
      }
      this.#call.end();
    } catch (error) {
      if (!this.#isOver) throw error;
    }
  }

  /** The response messages; rejects with the `ServiceError` of a call that failed. */
  async *messages(signal: AbortSignal): AsyncGenerator<object, void, undefined> {
    yield* readMessages(this.#call, signal);
    const failure = await abortable(this.#ended, signal);
    if (failure) throw failure;
  }

  /** Gives up what is left of the call. */
  [Symbol.dispose](): void {
    if (!this.#isOver) this.#call.cancel();
  }
}
