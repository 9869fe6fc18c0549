export type { CliCheck, CliConfig, CliConfigInput, CliDeps, CliIo, CliServer, CliSetting } from "./context.ts";
export { runCli } from "./run-cli.ts";
