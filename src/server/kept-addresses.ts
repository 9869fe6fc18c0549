import { join } from "node:path";
import { z } from "zod";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

const port = z.number().int().min(1).max(65535);
const schema = z.object({ grpc: port, http: port, gossip: port });

/** The ports of an earlier start: a node comes back where it was, if nobody else is there. */
export type KeptPorts = z.infer<typeof schema>;

const fileOf = (dataDir: string) => join(dataDir, "ports.json");

/** Undefined where there are none, or the file is damaged: it only saves the others a change of address. */
export function readKeptPorts(dataDir: string): KeptPorts | undefined {
  try {
    return schema.parse(JSON.parse(readFileIfExists(fileOf(dataDir)) ?? "null"));
  } catch {
    return undefined;
  }
}

export function keepPorts(dataDir: string, ports: KeptPorts): void {
  writeFileAtomic(fileOf(dataDir), `${JSON.stringify(ports)}\n`);
}
