import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/base/index.ts";

const directoryOf = (name: string) => join(packageRoot, "test/fuzz/corpus/gossip", name);

/** The kept inputs of a decoder by name: a file each, in hexadecimal. */
export function readNamedCorpus(decoder: string): Map<string, Uint8Array> {
  const files = readdirSync(directoryOf(decoder)).filter((file) => file.endsWith(".hex"));
  const read = (file: string) => Buffer.from(readFileSync(join(directoryOf(decoder), file), "utf8").replaceAll(/\s/g, ""), "hex");
  return new Map(files.sort().map((file) => [file.replace(".hex", ""), read(file)]));
}

/** The kept inputs of a decoder. */
export function readCorpus(decoder: string): Uint8Array[] {
  return [...readNamedCorpus(decoder).values()];
}

/** Keeps an input; equal inputs make one file. */
export function keepInput(name: string, bytes: Uint8Array): void {
  const hex = Buffer.from(bytes).toString("hex");
  mkdirSync(directoryOf(name), { recursive: true });
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  writeFileSync(join(directoryOf(name), `found-${digest}.hex`), `${hex.replaceAll(/.{120}/g, "$&\n")}\n`);
}
