import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../base/index.ts";

/** Version of this package. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };
  return version;
}
