import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import {
  abortable,
  type Clock,
  type Code,
  CodedError,
  linkSignals,
  type Random,
  randomHex,
  sharedAbortController,
  startDeadline,
} from "../base/index.ts";
import type { Address } from "./address.ts";
import { Attempt } from "./attempt.ts";
import { type CallFailure, failureError, readFailure, textIn } from "./call-failure.ts";
import { CallRoute, type Target } from "./call-route.ts";
import type { ChannelPool } from "./channel-pool.ts";
import { type ClientMethod, repositoryIn } from "./client-method.ts";
import type { CallOptions, ClientOptions } from "./client-options.ts";
import { type Consistency, consistencyKey } from "./consistency.ts";
import type { OwnerMemory } from "./owner-memory.ts";

export interface CallRunnerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly pool: ChannelPool;
  readonly memory: OwnerMemory;
  readonly consistency: Consistency;
  readonly addresses: readonly Address[];
  /** Aborts when the client closes. */
  readonly closed: AbortSignal;
}

/** One call, while it looks for the node that takes it. */
interface Pending {
  readonly method: ClientMethod;
  readonly options: CallOptions;
  readonly route: CallRoute;
  readonly repository: string | undefined;
  readonly correlationId: string;
  /** What the client has to bring along at the start of the call; undefined where the caller sees to that. */
  readonly consistency: string | undefined;
  readonly first: object;
  readonly rest: AsyncIterator<object> | undefined;
  readonly deadline: Date;
  readonly signal: AbortSignal;
}

/** Brings calls to the nodes that take them: follows redirects, fails over, and never sends twice what may have been done. */
export class CallRunner {
  readonly #options: ClientOptions;
  readonly #deps: CallRunnerDeps;

  constructor(options: ClientOptions, deps: CallRunnerDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** The response messages of a call. Nothing is sent before the first is asked for. */
  async *run(method: ClientMethod, requests: AsyncIterator<object>, options: CallOptions): AsyncGenerator<object, void, undefined> {
    const { clock, random, pool, memory, addresses, closed } = this.#deps;
    const { requestStream, responseStream } = method.definition;
    const timeoutMs = options.deadlineMs ?? (requestStream || responseStream ? this.#options.streamDeadlineMs : this.#options.deadlineMs);
    using linked = options.signal && linkSignals(closed, options.signal);
    const deadline = new Date(clock.now() + timeoutMs);
    using timer = startDeadline(clock, timeoutMs, linked?.signal ?? closed);
    try {
      const first = await abortable(requests.next(), timer.signal);
      if (first.done) throw new CodedError("invalid_argument", "a call needs a first message", { method: method.name });
      const repository = repositoryIn(method, first.value);
      const owners = repository === undefined ? [] : memory.ownersOf(repository);
      const start = [...addresses].sort((a, b) => Number(pool.shaky(a)) - Number(pool.shaky(b)));
      const pending: Pending = {
        method,
        options,
        route: new CallRoute(this.#options.maxHops, owners, start),
        repository,
        correlationId: options.metadata?.["x-gitlab-correlation-id"] ?? randomHex(random, 16),
        consistency: options.metadata?.[consistencyKey] === undefined ? this.#deps.consistency.text : undefined,
        first: first.value,
        rest: requestStream ? requests : undefined,
        deadline,
        signal: timer.signal,
      };
      while (!(yield* this.#try(pending)));
    } catch (error) {
      throw timer.signal.aborted ? reasonOf(timer.signal) : error;
    } finally {
      // Not awaited: the caller's generator may be waiting for something that will not come.
      requests.return?.().then(undefined, () => {});
    }
  }

  /** One attempt. @returns whether the call is done; false: try the next target. */
  async *#try(pending: Pending): AsyncGenerator<object, boolean, undefined> {
    const { method, options, route, signal } = pending;
    const target = route.next();
    using attempt = await this.#open(pending, target);
    if (!attempt) return false;
    attempt.sendFirst(pending.first, !pending.rest);
    let refused: ServiceError | undefined;
    try {
      refused = await attempt.accepted(this.#deps.clock, this.#options.answerTimeoutMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      // With only its first message a request stream has not changed anything.
      if (method.route.kind === "write" && !pending.rest) throw this.#unknownOutcome(pending, target, error);
      this.#forget(pending, target, new CodedError("node_unavailable", "the node does not answer", { address: target.address.url }));
      return false;
    }
    const info = { address: target.address.url, hops: route.redirects };
    if (refused) {
      const failure = readFailure(refused);
      if (failure.node !== "") options.onAttempt?.({ node: failure.node, ...info });
      return this.#refused(pending, target, failure);
    }
    const accepted = { node: textIn(attempt.header, "gitaly-node"), ...info };
    options.onAttempt?.(accepted);
    options.onHeader?.(accepted);
    return yield* this.#accepted(pending, target, attempt);
  }

  async #open(
    { method, options, route, deadline, correlationId, consistency, ...pending }: Pending,
    target: Target,
  ): Promise<Attempt | undefined> {
    const { pool } = this.#deps;
    if (target.reconnect) pool.renew(target.address);
    const metadata = requestMetadata({ ...options.metadata, "x-gitlab-correlation-id": correlationId });
    metadata.set("gitaly-redirect", "follow");
    // Also when there is nothing yet: that asks for an answer.
    if (consistency !== undefined) metadata.set(consistencyKey, consistency);
    if (target.hops > 0) metadata.set("gitaly-redirect-hops", String(target.hops));
    try {
      return new Attempt(await pool.connect(target.address, pending.signal), method, metadata, deadline);
    } catch (error) {
      pending.signal.throwIfAborted();
      if (!CodedError.is(error, "node_unavailable")) throw error;
      route.failed(target, error);
      if (pending.repository !== undefined) this.#deps.memory.forget(pending.repository);
      return undefined;
    }
  }

  /** The call ended before a handler had it, as far as we were told. */
  #refused(pending: Pending, target: Target, failure: CallFailure): boolean {
    const { method, route, repository } = pending;
    if (failure.redirect) {
      const owners = route.redirected(target, failure.node, failure.redirect);
      if (repository !== undefined && owners.length > 0) this.#deps.memory.remember(repository, owners, failure.redirect.ringFingerprint);
      return false;
    }
    const error = this.#errorOf(pending, target, failure);
    if (!isBroken(failure)) throw error;
    // A node that says so itself has not started; a broken connection leaves it open.
    const started = failure.node === "" && !pending.rest;
    if (method.route.kind === "write" && started) throw this.#errorOf(pending, target, failure, "outcome_unknown");
    this.#forget(pending, target, error);
    return false;
  }

  async *#accepted(pending: Pending, target: Target, attempt: Attempt): AsyncGenerator<object, boolean, undefined> {
    const { method, rest, signal } = pending;
    const giveUp = rest && sharedAbortController();
    using linked = giveUp && linkSignals(signal, giveUp.signal);
    // The caller's own messages failed: its error is the one to tell.
    if (rest) void attempt.sendRest(rest, signal).catch((error: unknown) => giveUp?.abort(error));
    let received = 0;
    try {
      for await (const message of attempt.messages(linked?.signal ?? signal)) {
        received++;
        yield message;
      }
      this.#remember(pending, attempt);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (giveUp?.signal.aborted || !isServiceError(error)) throw error;
      const failure = readFailure(error);
      // With its name in it the status is the node's own word, else it stands for a broken connection.
      const told = failure.node !== "";
      const failed = this.#errorOf(pending, target, { ...failure, node: textIn(attempt.header, "gitaly-node") });
      if (!isBroken(failure)) throw failed;
      if (method.route.kind === "write") throw told ? failed : this.#errorOf(pending, target, failure, "outcome_unknown");
      if (rest || received > 0) throw told ? failed : this.#errorOf(pending, target, failure, "node_unavailable");
      this.#forget(pending, target, failed);
      return false;
    }
  }

  #remember({ consistency }: Pending, { trailer }: Attempt): void {
    if (consistency === undefined || !trailer || trailer.get(consistencyKey).length === 0) return;
    this.#deps.consistency.answered(consistency, textIn(trailer, consistencyKey));
  }

  #forget({ route, repository }: Pending, target: Target, error: CodedError): void {
    route.failed(target, error);
    if (repository !== undefined) this.#deps.memory.forget(repository);
  }

  #errorOf({ method, route }: Pending, target: Target, failure: CallFailure, code?: Code): CodedError {
    return failureError(failure, { method: method.name, address: target.address.url, hops: route.hops }, code);
  }

  #unknownOutcome({ method }: Pending, target: Target, cause: unknown): CodedError {
    const fields = { method: method.name, address: target.address.url, grpcCode: status.UNAVAILABLE };
    return new CodedError("outcome_unknown", "the node does not answer", fields, { cause });
  }
}

/** Not the handler's answer but the loss of it. We did not cancel, so CANCELLED means that the node was stopped. */
function isBroken({ grpcCode }: CallFailure): boolean {
  return grpcCode === status.UNAVAILABLE || grpcCode === status.CANCELLED;
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "metadata" in error && "details" in error;
}

function reasonOf(signal: AbortSignal): unknown {
  if (CodedError.is(signal.reason)) return signal.reason;
  return new CodedError("cancelled", "the call was cancelled", {}, { cause: signal.reason });
}

function requestMetadata(values: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(values)) {
    if (!/^[0-9a-z_.-]+$/.test(key) || key.endsWith("-bin") || !/^[\x20-\x7e]*$/.test(value)) {
      throw new CodedError("invalid_argument", "request metadata is not printable ASCII", { key: key.slice(0, 100) });
    }
    metadata.set(key, value);
  }
  return metadata;
}
