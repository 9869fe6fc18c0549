import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Random, randomHex } from "../../base/index.ts";
import type { Layout } from "./layout.ts";
import { processInfo } from "./process-info.ts";

/** Notes that this process uses the server. Returns the name of its note. */
export async function attach(layout: Layout, random: Random): Promise<string> {
  await mkdir(layout.attached, { recursive: true, mode: 0o700 });
  const name = `${process.pid}.${randomHex(random, 4)}`;
  const info = await processInfo(process.pid);
  await writeFile(join(layout.attached, name), info?.startedAt ?? "", { mode: 0o600 });
  return name;
}

/** Takes the note back. Returns how many users are left. */
export async function detach(layout: Layout, name: string): Promise<number> {
  await rm(join(layout.attached, name), { force: true });
  return await countUsers(layout);
}

/** How many processes use the server; notes of those that died without taking them back are removed. */
export async function countUsers(layout: Layout): Promise<number> {
  let left = 0;
  for (const other of await readdir(layout.attached).catch(() => [])) {
    const info = await processInfo(Number.parseInt(other, 10));
    const startedAt = await readFile(join(layout.attached, other), "utf8").catch(() => undefined);
    if (info && startedAt !== undefined && (startedAt === "" || startedAt === info.startedAt)) left++;
    else await rm(join(layout.attached, other), { force: true });
  }
  return left;
}
