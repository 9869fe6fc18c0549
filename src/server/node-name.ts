import { join } from "node:path";
import { CodedError } from "../base/index.ts";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

const legal = /^[A-Za-z0-9._:-]{1,128}$/;

/**
 * The node's name: given, else as kept in the data directory, else `HOSTNAME:PORT`. It is kept from then on, because
 * it is the node's place on the ring. Errors: `bad_config` for a name with other characters.
 */
export function settleNodeName(options: { given: string | undefined; dataDir: string; hostname: string; grpcPort: number }): string {
  const file = join(options.dataDir, "node-name");
  const kept = readFileIfExists(file)?.trim();
  // A host name may hold characters that a node name may not.
  const made = `${options.hostname.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 120) || "node"}:${options.grpcPort}`;
  const name = options.given ?? kept ?? made;
  if (!legal.test(name)) throw new CodedError("bad_config", "a node name is 1 to 128 of A-Z a-z 0-9 . _ : -", { name });
  if (name !== kept) writeFileAtomic(file, `${name}\n`);
  return name;
}
