import { type Clock, CodedError, displayText } from "../base/index.ts";
import type { Logger } from "../observability/index.ts";
import type { CatfilePool } from "./catfile-pool.ts";
import { Connectivity } from "./connectivity.ts";
import type { CommandResult, PushCommand, ReceivedPack, ReceivePackOptions } from "./git.ts";
import type { Outbox } from "./outbox.ts";
import type { ProcessGate } from "./process-gate.ts";
import type { PushBody } from "./push-body.ts";
import { isZeroOid, type PlannedChange, planPush, spreadRefusals } from "./push-plan.ts";
import { progressFilter } from "./push-progress.ts";
import type { PushOutcome } from "./push-report.ts";
import type { PushRequest } from "./push-request.ts";
import { Quarantine } from "./quarantine.ts";
import type { RepositoryView } from "./repository-view.ts";
import { inspectTips } from "./tips.ts";

export interface PushLimits {
  /** Bytes of one push's pack; default 32 GiB. */
  readonly maxPackBytes: number;
  /** How long the client hears nothing while the server works; default 5 s. */
  readonly keepAliveMs: number;
}

export interface PushDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly gate: ProcessGate;
  readonly pool: CatfilePool;
  readonly fsckTakesSeverities: boolean;
}

/** What a look at the objects of a push's commands came to. */
interface Findings {
  readonly refusals: ReadonlyMap<PlannedChange, string>;
  /** What annotated tags lead to. */
  readonly peeled: ReadonlyMap<string, string>;
  readonly lacksObjects: boolean;
}

const unknownOutcome = "outcome unknown (fetch and compare)";

/** One push, from its commands to what became of each. */
export class Push {
  readonly #limits: PushLimits;
  readonly #deps: PushDeps;
  readonly #view: RepositoryView;
  readonly #request: PushRequest;
  readonly #changes: PlannedChange[];
  readonly #outbox: Outbox;
  readonly #options: ReceivePackOptions;

  constructor(
    limits: PushLimits,
    deps: PushDeps,
    push: { view: RepositoryView; request: PushRequest; outbox: Outbox; options: ReceivePackOptions },
  ) {
    this.#limits = limits;
    this.#deps = deps;
    this.#view = push.view;
    this.#request = push.request;
    this.#outbox = push.outbox;
    this.#options = push.options;
    this.#changes = planPush(push.view, push.request);
  }

  /** Reads the body to its end and moves the refs. Errors: those of the body, the signal's reason, `git_failed`. */
  async run(body: PushBody): Promise<PushOutcome> {
    const { objectFormat } = this.#request;
    if (objectFormat !== undefined && objectFormat !== this.#view.objectFormat) {
      await body.drain(this.#limits.maxPackBytes);
      return this.#allRefused(`object format ${objectFormat} does not fit a ${this.#view.objectFormat} repository`);
    }
    this.#warnOfNoops();
    let pack: ReceivedPack | undefined;
    try {
      pack = await this.#takePack(body);
    } catch (error) {
      const problem = unpackProblem(error);
      if (problem === undefined) throw error;
      await body.drain(this.#limits.maxPackBytes);
      // What a thin pack builds on comes from the repository; the pack itself is used up.
      const repaired = !(error instanceof BadPack) && (await this.#repair());
      return this.#allRefused(repaired ? "a damaged copy of the repository was thrown away; push again" : problem);
    }
    const peeled = await this.#judge(pack);
    spreadRefusals(this.#changes, this.#request.capabilities.has("atomic"));
    await this.#publish(pack, peeled);
    return { unpackError: undefined, refs: this.#changes.map(({ ref, refusal }) => ({ ref, reason: refusal })) };
  }

  get #live(): PlannedChange[] {
    return this.#changes.filter((change) => change.refusal === undefined && !change.isNoop);
  }

  #warnOfNoops(): void {
    const text = this.#changes.filter((change) => change.isNoop).map(() => "warning: deleting a non-existent ref\n");
    if (text.length > 0) this.#outbox.put(Buffer.from(text.slice(0, 100).join(""), "latin1"));
  }

  #allRefused(unpackError: string): PushOutcome {
    const refs = this.#changes.map(({ ref, refusal }) => ({ ref, reason: refusal ?? "unpacker error" }));
    return { unpackError, refs };
  }

  /** Undefined where the push brings no objects, or none that anybody wants. */
  async #takePack(body: PushBody): Promise<ReceivedPack | undefined> {
    const { maxPackBytes } = this.#limits;
    if (!this.#live.some((change) => !change.isDelete)) {
      await body.drain(maxPackBytes);
      return undefined;
    }
    const objectCount = await body.packObjectCount();
    if (objectCount === undefined) throw new BadPack("no pack where one is needed");
    if (objectCount === 0) {
      if (await body.takeEmptyPack(this.#view.objectFormat)) return undefined;
      throw new BadPack("pack is corrupted");
    }
    const quiet = this.#request.capabilities.has("quiet") || !this.#request.capabilities.has("side-band-64k");
    const quarantine = await this.#quarantine();
    const pack = await quarantine.indexPack(body, {
      maxPackBytes,
      onStderr: quiet ? undefined : progressFilter(this.#outbox),
      signal: this.#options.signal,
    });
    await body.drain(maxPackBytes);
    return pack;
  }

  async #quarantine(): Promise<Quarantine> {
    const snapshot = await this.#view.snapshot(this.#options.signal);
    return new Quarantine(this.#options.quarantineDir, snapshot, this.#deps);
  }

  /** Refuses the commands whose objects are not right; answers what new annotated tags lead to. */
  async #judge(pack: ReceivedPack | undefined): Promise<ReadonlyMap<string, string>> {
    const wanted = this.#live.filter((change) => !change.isDelete);
    if (wanted.length === 0) return new Map();
    let findings = await this.#examine(wanted, pack);
    if (findings.lacksObjects && (await this.#repair())) findings = await this.#examine(wanted, pack);
    for (const [change, refusal] of findings.refusals) change.refusal = refusal;
    return findings.peeled;
  }

  async #repair(): Promise<boolean> {
    return (await this.#options.repair?.(this.#options.signal)) === true;
  }

  async #examine(wanted: readonly PlannedChange[], pack: ReceivedPack | undefined): Promise<Findings> {
    const { signal } = this.#options;
    const refusals = new Map<PlannedChange, string>();
    const peeled = new Map<string, string>();
    const quarantine = await this.#quarantine();
    await quarantine.prepare();
    const { directories } = quarantine;
    const oids = new Set(wanted.map((change) => change.newOid));
    const tips = await inspectTips(this.#view, { directories, pack }, oids, this.#deps, signal);
    const lacking: PlannedChange[] = [];
    for (const change of wanted) {
      const tip = tips.get(change.newOid);
      if (!tip) lacking.push(change);
      else if (change.ref.startsWith("refs/heads/") && tip.type !== "commit") refusals.set(change, "a branch must point at a commit");
      else if (tip.peeledOid !== undefined) peeled.set(change.newOid, tip.peeledOid);
    }
    const left = wanted.filter((change) => tips.has(change.newOid) && !refusals.has(change));
    const connectivity = new Connectivity(this.#deps.gate);
    const disconnected = new Set(await connectivity.disconnected(this.#view, directories, left, signal));
    lacking.push(...left.filter((change) => disconnected.has(change.ref)));
    const missing = lacking.length > 0 ? await this.#missingReason() : "";
    for (const change of lacking) refusals.set(change, missing);
    return { refusals, peeled, lacksObjects: lacking.length > 0 };
  }

  /** A client whose history ends at a commit that is not here can only be told to bring more. */
  async #missingReason(): Promise<string> {
    const { signal } = this.#options;
    const { shallowOids } = this.#request;
    if (shallowOids.length === 0) return "missing necessary objects";
    const known = await this.#deps.pool.with(this.#view, signal, async (catfile) => {
      for (const oid of shallowOids) if (!(await catfile.info(oid, signal))) return false;
      return true;
    });
    return known ? "missing necessary objects" : "shallow update not allowed";
  }

  async #publish(pack: ReceivedPack | undefined, peeled: ReadonlyMap<string, string>): Promise<void> {
    const { signal } = this.#options;
    const live = this.#live;
    if (live.length === 0) return;
    signal.throwIfAborted();
    const commands = live.map(({ ref, oldOid, newOid }): PushCommand => {
      const peeledOid = peeled.get(newOid);
      return { ref, oldOid, newOid, ...(peeledOid === undefined ? {} : { peeledOid }) };
    });
    const bringsObjects = live.some((change) => !isZeroOid(change.newOid));
    const { pushOptions, capabilities } = this.#request;
    const results = await this.#published(
      this.#options.publish(
        {
          commands,
          atomic: capabilities.has("atomic"),
          pack: bringsObjects ? pack : undefined,
          ...(pushOptions.length > 0 ? { pushOptions } : {}),
        },
        signal,
      ),
      commands,
    );
    for (const [index, change] of live.entries()) {
      const result = results[index];
      if (result?.ref !== change.ref || result.status === "unknown") change.refusal = unknownOutcome;
      else if (result.status === "rejected") change.refusal = result.reason;
    }
  }

  /** What publishing came to; a failure becomes an answer for each ref, since the client still listens. */
  async #published(publishing: Promise<readonly CommandResult[]>, commands: readonly PushCommand[]): Promise<readonly CommandResult[]> {
    try {
      return await publishing;
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      this.#deps.logger.warn("push was not published", { error, refs: commands.slice(0, 10).map(({ ref }) => displayText(ref)) });
      const isKnown = CodedError.is(error) && error.code !== "outcome_unknown" && error.code !== "internal";
      return commands.map(({ ref }) =>
        isKnown ? { ref, status: "rejected", reason: error.message } : { ref, status: "unknown", reason: unknownOutcome },
      );
    }
  }
}

/** A pack that is refused before git sees it. */
class BadPack extends CodedError {
  constructor(message: string) {
    super("protocol_error", message);
  }
}

/** The report's words for a pack that is not sound; undefined for any other failure. */
function unpackProblem(error: unknown): string | undefined {
  if (error instanceof BadPack) return error.message;
  if (!CodedError.is(error, "git_failed") || error.fields["command"] !== "index-pack" || error.fields["exitCode"] === undefined)
    return undefined;
  const fatal = /^(?:fatal|error): ([^/]*)$/m.exec(String(error.fields["stderr"]))?.[1];
  // A text with a slash may name a local path.
  return fatal === undefined ? "index-pack abnormal exit" : `index-pack: ${fatal}`;
}
