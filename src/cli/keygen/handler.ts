import type { CliContext } from "../context.ts";

/** Options of `keygen`. */
export interface KeygenOptions {
  readonly bytes: string;
}

/** Prints one key and nothing else, so that the output can be a file or a variable. */
export async function runKeygen({ bytes }: KeygenOptions, { deps, io }: CliContext): Promise<number> {
  io.stdout(`${Buffer.from(deps.random.bytes(Number(bytes))).toString("base64")}\n`);
  return 0;
}
