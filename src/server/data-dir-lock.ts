import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CodedError, errnoOf, type Random, randomHex } from "../base/index.ts";
import { identify, isRunning, type ProcessIdentity } from "./process-identity.ts";

interface Holder extends ProcessIdentity {
  /** Name of the node, once it has one. */
  readonly node?: string;
  /** HOST:PORT of its gRPC listener, once it listens. */
  readonly grpc?: string;
}

/** The right to use a data directory, held by one process. A killed holder leaves nothing that needs a person. */
export interface DataDirLock extends Disposable {
  readonly dir: string;
  /** Tells later contenders who holds the directory. */
  describe(node: string, grpc: string): void;
}

/** Makes `dir` if needed and locks it. Errors: `data_dir_in_use` naming the holder, `failed_precondition` where nothing can be kept there. */
export function lockDataDir(dir: string, random: Random): DataDirLock {
  const lockFile = join(dir, "lock");
  const self = identify(process.pid);
  const scratch = () => join(dir, `lock.${process.pid}.${randomHex(random, 4)}`);
  const write = (holder: Holder): string => {
    const file = scratch();
    writeFileSync(file, JSON.stringify(holder), { mode: 0o600 });
    return file;
  };

  let own: string;
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    own = write(self);
  } catch (error) {
    const fields = { dir, errno: errnoOf(error) };
    throw new CodedError("failed_precondition", "the data directory cannot be made or written; --data-dir names another", fields, {
      cause: error,
    });
  }
  try {
    while (!tryLink(own, lockFile)) removeDead(lockFile, scratch());
  } finally {
    rmSync(own, { force: true });
  }
  let held = true;
  return {
    dir,
    describe: (node, grpc) => {
      if (held) renameSync(write({ ...self, node, grpc }), lockFile);
    },
    [Symbol.dispose]: () => {
      if (held) rmSync(lockFile, { force: true });
      held = false;
    },
  };
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Takes a dead holder's lock away; throws where the holder lives. */
function removeDead(lockFile: string, aside: string): void {
  const judged = read(lockFile);
  if (judged === undefined) return;
  const holder = parse(judged);
  if (holder && isRunning(holder)) {
    throw new CodedError("data_dir_in_use", "another node uses the data directory", {
      pid: holder.pid,
      node: holder.node ?? "starting",
      ...(holder.grpc === undefined ? {} : { joinWith: `gitaly serve --join-addr http://${holder.grpc}` }),
    });
  }
  try {
    renameSync(lockFile, aside);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  // Another contender may have replaced the dead lock in between: what was moved is then its living one.
  if (read(aside) !== judged) tryLink(aside, lockFile);
  rmSync(aside, { force: true });
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function parse(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Holder;
    return Number.isInteger(value.pid) && value.pid > 0 && typeof value.startTime === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
