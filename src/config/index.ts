export type { Config, JoinAddress, ListenAddress } from "./config.ts";
