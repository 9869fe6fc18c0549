import { stringify } from "smol-toml";
import type { KeySpec } from "./key-spec.ts";
import { type KeyName, keys } from "./keys.ts";
import { loadConfig } from "./load-config.ts";
import { type ConfigInput, mergeSources } from "./merge.ts";
import { maskUrl } from "./urls.ts";

/** One key of the merged configuration, for people. */
export interface ShownSetting {
  readonly key: string;
  /** As it would stand in the file, passwords masked; undefined where it is not set. */
  readonly value: unknown;
  /** `gitaly.toml:12`, `env GITALY_CLUSTER_REPLICAS`, `flag --insecure` or `default`. */
  readonly from: string;
}

/** The merged configuration as a list and as TOML that could be loaded again (but for masked passwords). */
export interface ShownConfig {
  readonly settings: readonly ShownSetting[];
  readonly toml: string;
}

/** Says of every key which value it has and where that came from. Errors: as `loadConfig`. */
export function showConfig(input: ConfigInput): ShownConfig {
  loadConfig(input);
  const merged = mergeSources(input);
  const settings = (Object.keys(keys) as KeyName[]).map((key) => {
    const setting = merged.settings.get(key);
    if (!setting) return { key, value: undefined, from: "default" };
    const prefix = { default: "", file: "", environment: "env ", flag: "flag " }[setting.source];
    return {
      key,
      value: (keys[key] as KeySpec).kind === "secrets" ? hidden(setting.raw) : masked(setting.raw),
      from: `${prefix}${setting.from}`,
    };
  });
  return { settings, toml: toToml(settings) };
}

function masked(raw: unknown): unknown {
  if (typeof raw === "string") return maskUrl(raw);
  return Array.isArray(raw) ? raw.map(masked) : raw;
}

function hidden(raw: unknown): unknown {
  return Array.isArray(raw) ? raw.map(() => "***") : "***";
}

function toToml(settings: readonly ShownSetting[]): string {
  const lines = ["# Merged from defaults, file, environment and flags; each of them beats the ones before it."];
  let table = "";
  for (const { key, value, from } of settings) {
    const dot = key.lastIndexOf(".");
    if (key.slice(0, Math.max(dot, 0)) !== table) {
      table = key.slice(0, dot);
      lines.push("", `[${table}]`);
    }
    const name = key.slice(dot + 1);
    if (value === undefined) lines.push(`# ${name} is not set: ${(keys[key as KeyName] as KeySpec).unset ?? "none"}`);
    else lines.push(`${stringify({ [name]: value }).trimEnd()}  # ${from.replaceAll(/\p{Cc}/gu, "?")}`);
  }
  return `${lines.join("\n")}\n`;
}
