import { link, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { CheckedPush, CommandResult, RefValue, RefView, RepositoryView } from "../../src/git/index.ts";
import type { TempRepo } from "./temp-repo.ts";

/** A sorted list as a RefView. */
export function refViewOf(refs: Iterable<RefValue>): RefView {
  const sorted = [...refs].sort((a, b) => (a.name < b.name ? -1 : 1));
  const byName = new Map(sorted.map((ref) => [ref.name, ref]));
  return {
    size: sorted.length,
    get: (name) => byName.get(name),
    withPrefix: (prefix) => sorted.filter((ref) => ref.name.startsWith(prefix)),
  };
}

export interface FixtureOptions {
  readonly objectFormat?: "sha1" | "sha256";
  readonly head?: string;
}

/** A repository whose refs live in memory and whose packs lie in one directory: the least that can stand behind a `Git`. */
export class GitFixture implements AsyncDisposable {
  readonly dir: string;
  readonly objectFormat: "sha1" | "sha256";
  head: string;
  readonly pushes: CheckedPush[] = [];
  #refs = new Map<string, RefValue>();
  #generation = 0;
  #view: RepositoryView | undefined;
  #publishing: Promise<unknown> = Promise.resolve();

  private constructor(dir: string, options: FixtureOptions) {
    this.dir = dir;
    this.objectFormat = options.objectFormat ?? "sha1";
    this.head = options.head ?? "refs/heads/main";
  }

  static async create(options: FixtureOptions = {}): Promise<GitFixture> {
    const dir = await mkdtemp(join(tmpdir(), "gitaly-test-fixture-"));
    await mkdir(join(dir, "objects", "pack"), { recursive: true });
    return new GitFixture(dir, options);
  }

  get refs(): ReadonlyMap<string, RefValue> {
    return this.#refs;
  }

  /** Takes over everything that `repo` has. */
  async takeFrom(repo: TempRepo): Promise<void> {
    await repo.git("repack", "-adq");
    const packDir = join(repo.dir, ".git", "objects", "pack");
    for (const name of (await readdir(packDir)).sort()) {
      await writeFile(join(this.dir, "objects", "pack", name), await readFile(join(packDir, name)));
    }
    const list = await repo.git("for-each-ref", "--format=%(objectname) %(refname) %(*objectname)");
    for (const line of list.split("\n").filter(Boolean)) {
      const [oid = "", name = "", peeled] = line.split(" ");
      this.#refs.set(name, { name, oid, ...(peeled ? { peeled } : {}) });
    }
    this.#view = undefined;
  }

  setRefs(refs: Iterable<RefValue>): void {
    this.#refs = new Map([...refs].map((ref) => [ref.name, ref]));
    this.#view = undefined;
  }

  /** The refs as they are now. */
  view(): RepositoryView {
    if (this.#view) return this.#view;
    const refs = refViewOf(this.#refs.values());
    const generation = ++this.#generation;
    let made: Promise<string> | undefined;
    const { objectFormat, head } = this;
    this.#view = {
      objectFormat,
      head,
      refs,
      snapshot: async () => {
        made ??= this.#materialise(generation, refs);
        return { gitDir: await made, objectDir: join(this.dir, "objects") };
      },
    };
    return this.#view;
  }

  /** Applies a push the way a store does: old values must match, no name may be another's directory, all or nothing where it is atomic. */
  async publish(push: CheckedPush): Promise<readonly CommandResult[]> {
    const work = this.#publishing.then(() => this.#apply(push));
    this.#publishing = work;
    return await work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }

  async #apply(push: CheckedPush): Promise<readonly CommandResult[]> {
    this.pushes.push(push);
    const next = new Map(this.#refs);
    const results: CommandResult[] = push.commands.map(({ ref }) => ({ ref, status: "ok" }));
    const inOrder = [...push.commands.entries()].sort(([, a], [, b]) => Number(isZero(b.newOid)) - Number(isZero(a.newOid)));
    for (const [index, command] of inOrder) {
      const { ref, oldOid, newOid, peeledOid } = command;
      const reason = (next.get(ref)?.oid ?? "0".repeat(oldOid.length)) !== oldOid ? "stale info" : isZero(newOid) ? "" : clash(next, ref);
      if (reason) results[index] = { ref, status: "rejected", reason };
      else if (isZero(newOid)) next.delete(ref);
      else next.set(ref, { name: ref, oid: newOid, ...(peeledOid ? { peeled: peeledOid } : {}) });
    }
    if (push.atomic && results.some((result) => result.status !== "ok")) {
      return results.map((result) =>
        result.status === "ok" ? { ref: result.ref, status: "rejected", reason: "atomic push failure" } : result,
      );
    }
    if (push.pack) {
      for (const file of [push.pack.packFile, push.pack.indexFile]) {
        await link(file, join(this.dir, "objects", "pack", basename(file))).catch(() => {});
      }
    }
    this.#refs = next;
    this.#view = undefined;
    return results;
  }

  async #materialise(generation: number, refs: RefView): Promise<string> {
    const gitDir = join(this.dir, `generation-${generation}`);
    await mkdir(join(gitDir, "refs"), { recursive: true });
    await writeFile(join(gitDir, "HEAD"), `ref: ${this.head}\n`, "latin1");
    const lines = [...refs.withPrefix("")].map(({ oid, name, peeled }) => `${oid} ${name}\n${peeled ? `^${peeled}\n` : ""}`);
    await writeFile(join(gitDir, "packed-refs"), `# pack-refs with: peeled fully-peeled sorted \n${lines.join("")}`, "latin1");
    const sha256 = "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n";
    await writeFile(join(gitDir, "config"), this.objectFormat === "sha256" ? sha256 : "[core]\n\tbare = true\n");
    return gitDir;
  }
}

function isZero(oid: string): boolean {
  return /^0+$/.test(oid);
}

function clash(refs: ReadonlyMap<string, RefValue>, ref: string): string {
  for (const name of refs.keys()) {
    if (name.startsWith(`${ref}/`) || ref.startsWith(`${name}/`)) return `'${name}' exists`;
  }
  return "";
}
