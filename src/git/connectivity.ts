import type { ByteString } from "../base/index.ts";
import type { PushCommand } from "./git.ts";
import type { GitDirectories } from "./git-environment.ts";
import { gitFailed, type ProcessGate } from "./process-gate.ts";
import type { RepositoryView } from "./repository-view.ts";

/** Tips that a walk may stop at; more of them cost more than they save. */
const maxKnownTips = 1000;
/** Children that one push may use to find out which of its refs are at fault. */
const maxChecks = 200;

/** Finds the refs whose new value needs an object that is neither in the quarantine nor in the repository. */
export class Connectivity {
  readonly #gate: ProcessGate;

  constructor(gate: ProcessGate) {
    this.#gate = gate;
  }

  /** One child where all is well; more, in halves, where something is missing. */
  async disconnected(
    view: RepositoryView,
    directories: GitDirectories,
    commands: readonly Pick<PushCommand, "ref" | "newOid">[],
    signal: AbortSignal,
  ): Promise<readonly ByteString[]> {
    const wanted = commands.filter((command) => !/^0+$/.test(command.newOid));
    if (wanted.length === 0) return [];
    const known = knownTips(view, wanted);
    const bad: ByteString[] = [];
    const groups = [wanted];
    let checks = 0;
    for (let group = groups.pop(); group; group = groups.pop()) {
      if (checks < maxChecks) {
        checks++;
        if (await this.#isConnected(directories, group, known, signal)) continue;
        if (group.length > 1) {
          const middle = group.length >> 1;
          groups.push(group.slice(0, middle), group.slice(middle));
          continue;
        }
      }
      bad.push(...group.map((command) => command.ref));
    }
    return bad;
  }

  async #isConnected(
    directories: GitDirectories,
    commands: readonly Pick<PushCommand, "newOid">[],
    known: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<boolean> {
    await using child = await this.#gate.start({ command: "rev-list", flags: ["--objects", "--stdin", "--quiet"], directories }, signal);
    child.stdout.resume();
    const tips = new Set(commands.map((command) => command.newOid));
    child.stdin.end(`${[...tips, ...[...known].map((oid) => `^${oid}`)].join("\n")}\n`);
    const exit = await child.exited;
    signal.throwIfAborted();
    if (exit.code === undefined) throw gitFailed("rev-list", exit);
    return exit.code === 0;
  }
}

/** The refs that change and HEAD first: most pushes build on them. All the walk costs without the others is time. */
function knownTips(view: RepositoryView, commands: readonly Pick<PushCommand, "ref">[]): ReadonlySet<string> {
  const known = new Set<string>();
  const add = (oid: string | undefined) => {
    if (oid !== undefined && known.size < maxKnownTips) known.add(oid);
  };
  add(view.refs.get(view.head)?.oid);
  for (const command of commands) add(view.refs.get(command.ref)?.oid);
  for (const prefix of ["refs/heads/", ""]) {
    for (const ref of view.refs.withPrefix(prefix)) {
      if (known.size >= maxKnownTips) return known;
      known.add(ref.oid);
    }
  }
  return known;
}
