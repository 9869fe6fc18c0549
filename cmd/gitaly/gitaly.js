#!/usr/bin/env node
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../dist/cmd/gitaly/main.js", import.meta.url));
if (existsSync(main)) {
  await import(main);
} else {
  console.error('gitaly is not built yet; run "npm ci && npm run build" in its checkout');
  process.exit(1);
}
