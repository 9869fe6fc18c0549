import { access, appendFile, chmod, link, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { CodedError, type Random, randomHex } from "../../base/index.ts";
import type { Layout } from "./layout.ts";
import { processInfo } from "./process-info.ts";
import type { Runner } from "./runner.ts";

/** The server's superuser, and the only user. */
export const databaseUser = "gitaly";

const settings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
password_encryption = 'scram-sha-256'
log_min_messages = warning
`;

/** Makes the data directory if there is none. Several starters may do so at once: one wins, the others use the winner's. */
export async function ensureDataDirectory(layout: Layout, deps: { runner: Runner; random: Random }): Promise<void> {
  await mkdir(layout.root, { recursive: true, mode: 0o700 });
  await sweep(layout);
  if (await exists(join(layout.data, "PG_VERSION"))) return;
  await ensurePassword(layout, deps.random);
  const suffix = `${process.pid}.${randomHex(deps.random, 4)}`;
  const temporary = `${layout.data}.${suffix}`;
  const passwordCopy = `${layout.passwordFile}.${suffix}`;
  try {
    await mkdir(temporary, { mode: 0o700 });
    await writePrivate(passwordCopy, await readPassword(layout));
    await deps.runner.handOver(temporary);
    await deps.runner.handOver(passwordCopy);
    const result = await deps.runner.run("initdb", [
      ...["-D", temporary, "-U", databaseUser, "-A", "scram-sha-256", `--pwfile=${passwordCopy}`],
      ...["--no-sync", "-E", "UTF8", "--locale=C", "--wal-segsize=1"],
    ]);
    if (result.code !== 0) {
      throw new CodedError("database_unavailable", "the embedded PostgreSQL could not be set up", {
        output: result.output,
        hint: "set database.url",
      });
    }
    await appendFile(join(temporary, "postgresql.conf"), settings);
    await rename(temporary, layout.data).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
    await rm(passwordCopy, { force: true });
  }
}

/** Removes what processes that were killed during a set-up left: half-made directories, copies of the password. */
async function sweep({ root, data, passwordFile }: Layout): Promise<void> {
  const prefixes = [data, passwordFile, `${passwordFile}.new`].map((path) => `${basename(path)}.`);
  for (const name of await readdir(root)) {
    const prefix = prefixes.find((candidate) => name.startsWith(candidate) && /^\d+\.[0-9a-f]{8}$/.test(name.slice(candidate.length)));
    if (prefix === undefined || (await processInfo(Number.parseInt(name.slice(prefix.length), 10)))) continue;
    // An initdb that outlives its starter may still write there; the next start removes the rest.
    await rm(join(root, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

/** The superuser's password. Errors: `database_unavailable` where the file is gone. */
export async function readPassword(layout: Layout): Promise<string> {
  try {
    return (await readFile(layout.passwordFile, "utf8")).trim();
  } catch (error) {
    throw new CodedError("database_unavailable", "the embedded database's password file cannot be read", {}, { cause: error });
  }
}

/** Every racer must hand the same password to initdb, so it is fixed before the first of them starts. */
async function ensurePassword(layout: Layout, random: Random): Promise<void> {
  const temporary = `${layout.passwordFile}.new.${process.pid}.${randomHex(random, 4)}`;
  await writePrivate(temporary, `${randomHex(random, 24)}\n`);
  await link(temporary, layout.passwordFile).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(temporary, { force: true });
}

async function writePrivate(file: string, text: string): Promise<void> {
  await using handle = await open(file, "wx", 0o600);
  await handle.writeFile(text);
  await handle.sync();
  await chmod(file, 0o600);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
