import { join } from "node:path";
import { CodedError } from "../base/index.ts";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

const legal = /^[A-Za-z0-9._:-]{1,128}$/;

const fileOf = (dataDir: string) => join(dataDir, "node-name");

/** A node's name, and whether it was made from its gRPC port in this very start. */
export interface ChosenName {
  readonly name: string;
  readonly made: boolean;
}

/** The node's name: given, else as kept in the data directory, else `HOSTNAME:PORT`. Errors: `bad_config` for a name with other characters. */
export function chooseNodeName(options: { given: string | undefined; dataDir: string; hostname: string; grpcPort: number }): ChosenName {
  const kept = readFileIfExists(fileOf(options.dataDir))?.trim();
  // A host name may hold characters that a node name may not.
  const made = `${options.hostname.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 120) || "node"}:${options.grpcPort}`;
  const name = options.given ?? kept ?? made;
  if (!legal.test(name)) throw new CodedError("bad_config", "a node name is 1 to 128 of A-Z a-z 0-9 . _ : -", { name });
  return { name, made: options.given === undefined && kept === undefined };
}

/** Keeps the name for later starts: it is the node's place on the ring. */
export function keepNodeName(dataDir: string, name: string): void {
  if (readFileIfExists(fileOf(dataDir))?.trim() !== name) writeFileAtomic(fileOf(dataDir), `${name}\n`);
}
