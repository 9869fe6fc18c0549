export type { Config, JoinAddress, ListenAddress } from "./config.ts";
export { type LoadedConfig, loadConfig } from "./load-config.ts";
export type { ConfigInput, FlagValue } from "./merge.ts";
export { type ShownConfig, type ShownSetting, showConfig } from "./show-config.ts";
