import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { neverAborted } from "../../src/base/index.ts";
import type { Git, PublishPush } from "../../src/git/index.ts";
import { encodePkt, flushPkt, PktReader } from "../../src/git/pkt-line.ts";
import { GitFixture } from "./git-fixture.ts";
import { GitHttpFront } from "./git-http-front.ts";
import { TempRepo } from "./temp-repo.ts";

/** A served repository and a work tree that pushes to it. */
export interface PushBench extends AsyncDisposable {
  readonly fixture: GitFixture;
  readonly front: GitHttpFront;
  readonly work: TempRepo;
  readonly tip: string;
}

/** A repository with one commit on main, pushed from a work tree whose origin it is. */
export async function pushBench(git: Git, objectFormat: "sha1" | "sha256" = "sha1"): Promise<PushBench> {
  const fixture = await GitFixture.create({ objectFormat });
  const front = await GitHttpFront.start(git, fixture);
  const work = await TempRepo.create({ objectFormat });
  const tip = await work.commit("a.txt", "one\n");
  await work.git("remote", "add", "origin", front.url);
  await work.git("push", "-q", "origin", "main");
  return {
    fixture,
    front,
    work,
    tip,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]();
      await work[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

export interface RawPush {
  readonly commands: readonly string[];
  readonly capabilities?: string;
  readonly shallow?: readonly string[];
  readonly pack?: Uint8Array;
}

/** Sends a push as bytes, past all that a git client would refuse by itself; answers the report's lines. */
export async function rawPush(
  git: Git,
  fixture: GitFixture,
  push: RawPush,
  publish: PublishPush = (checked) => fixture.publish(checked),
): Promise<string[]> {
  const quarantineDir = await mkdtemp(join(tmpdir(), "gitaly-test-quarantine-"));
  try {
    const body = (async function* () {
      for (const oid of push.shallow ?? []) yield encodePkt(`shallow ${oid}\n`);
      const caps = `\0${push.capabilities ?? "report-status"}`;
      for (const [index, command] of push.commands.entries()) yield encodePkt(`${command}${index === 0 ? caps : ""}`);
      yield flushPkt;
      if (push.pack) yield push.pack;
    })();
    const answer = git.receivePack(fixture.view(), body, { quarantineDir, publish, signal: neverAborted });
    const reader = new PktReader({ maxBytes: 1 << 20 }, answer);
    const lines: string[] = [];
    for (let pkt = await reader.next(); pkt?.type === "data"; pkt = await reader.next()) lines.push(pkt.payload.toString("latin1").trim());
    return lines;
  } finally {
    await rm(quarantineDir, { recursive: true, force: true });
  }
}

/** A pack of exactly these objects. */
export async function packOf(repo: TempRepo, ...oids: string[]): Promise<Buffer> {
  const name = `pack-${randomBytes(4).toString("hex")}`;
  await repo.git("-c", `alias.p=!printf '%s\\n' ${oids.join(" ")} | git pack-objects -q --stdout >${name}`, "p");
  return await readFile(join(repo.dir, name));
}
