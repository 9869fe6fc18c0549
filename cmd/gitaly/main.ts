import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { systemClock } from "../../src/base/index.ts";
import { type CliIo, runCli } from "../../src/cli/index.ts";
import { loadConfig, showConfig } from "../../src/config/index.ts";

const io: CliIo = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  isTerminal: process.stdin.isTTY === true && process.stdout.isTTY === true,
  ask: async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    return lines.question(question).finally(() => lines.close());
  },
  env: process.env,
  cwd: process.cwd(),
  readFile: (path) => readFileSync(path, "utf8"),
  onStopSignal: (listener) => {
    process.on("SIGTERM", listener).on("SIGINT", listener);
    return { [Symbol.dispose]: () => void process.off("SIGTERM", listener).off("SIGINT", listener) };
  },
};

// A reader that has seen enough, such as `head`, must not take the node down with it.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});
// The node's parts take their time to load, and most commands only talk to a running one.
const server = () => import("../../src/server/index.ts");
const code = await runCli(process.argv.slice(2), io, {
  clock: systemClock,
  loadConfig,
  showConfig,
  createServer: async (config) => (await server()).createServer(config),
  runChecks: async function* (config) {
    yield* (await server()).runChecks(config);
  },
  watchDatabase: async (config) => (await server()).watchDatabase(config),
  rebuildCatalog: async (config, options, signal) => (await server()).rebuildCatalog(config, options, signal),
});
process.stdout.write("", () => process.exit(code));
