import type { MemberRecord } from "../../../src/gossip/index.ts";
import type { SimNode } from "../sim-node.ts";

/** Compares views with the truth; a view that was right is looked at again only when it, or the truth, has changed. */
export class ConvergenceChecker {
  readonly #verified = new Map<SimNode, readonly MemberRecord[]>();
  #truth: readonly Truth[] = [];
  #suspect: SimNode | undefined;

  /** The first node of `nodes`, the members of the cluster, whose view is not exactly them, each with its own metadata and address. */
  firstWrong(nodes: readonly SimNode[]): SimNode | undefined {
    const truth = nodes.map(truthOf).sort((a, b) => (a.name < b.name ? -1 : 1));
    if (!isDeepEqual(truth, this.#truth)) {
      this.#verified.clear();
      this.#truth = truth;
    }
    if (this.#suspect?.running && !this.#suspect.left && !this.isRight(this.#suspect)) return this.#suspect;
    this.#suspect = nodes.find((node) => !this.isRight(node));
    return this.#suspect;
  }

  /** What is wrong in the view of `node`, as of the last question. */
  describe(node: SimNode): string {
    const left = new Map(this.#truth.map((expected) => [expected.name, expected]));
    const wrong: string[] = [];
    for (const record of node.member.members()) {
      const expected = left.get(record.name);
      left.delete(record.name);
      if (expected ? record.state === "alive" && isSame(record, expected) : record.state === "dead" || record.state === "left") continue;
      const what = `${record.name}@${record.host} ${record.state}/${record.incarnation} meta ${Buffer.from(record.meta).toString("hex")}`;
      wrong.push(
        expected ? `${what} instead of ${expected.host} meta ${Buffer.from(expected.meta).toString("hex")}` : `${what}, who is not there`,
      );
    }
    for (const name of left.keys()) wrong.push(`lacks ${name}`);
    return `${node.name}@${node.host}: ${wrong.slice(0, 10).join("; ")}${wrong.length > 10 ? ` and ${wrong.length - 10} more` : ""}`;
  }

  /** True if the view of `node` was right at the last question, or is now. */
  isRight(node: SimNode): boolean {
    const view = node.member.members();
    if (this.#verified.get(node) === view) return true;
    let at = 0;
    for (const record of view) {
      if (record.state !== "alive" && record.state !== "suspect") continue;
      const expected = this.#truth[at++];
      if (!expected || record.state !== "alive" || !isSame(record, expected)) return false;
    }
    if (at !== this.#truth.length) return false;
    this.#verified.set(node, view);
    return true;
  }
}

interface Truth {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly meta: Uint8Array;
}

function truthOf({ name, member, meta }: SimNode): Truth {
  const { host, port } = member.address;
  return { name, host, port, meta };
}

function isSame(record: Truth, expected: Truth): boolean {
  return (
    record.name === expected.name && record.host === expected.host && record.port === expected.port && isEqual(record.meta, expected.meta)
  );
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || (a.length === b.length && a.every((byte, index) => byte === b[index]));
}

function isDeepEqual(a: readonly Truth[], b: readonly Truth[]): boolean {
  return a.length === b.length && a.every((each, index) => isSame(each, b[index] as Truth));
}
