import { CodedError, errnoOf } from "../base/index.ts";
import { ignoredEnv } from "./ignored-keys.ts";
import type { KeyKind, KeySpec, RawValue } from "./key-spec.ts";
import { envName, type KeyName, keys } from "./keys.ts";
import { type NotBuilt, notBuilt, notBuiltValue } from "./not-built.ts";
import type { Problem } from "./problems.ts";
import { readToml } from "./read-toml.ts";
import { hasPassword } from "./urls.ts";

/** What a flag of the command line was given, as often as it was given. */
export type FlagValue = string | boolean | readonly string[] | undefined;

/** Where the configuration comes from. */
export interface ConfigInput {
  /** By the flag's name without dashes; `config` names the file. */
  readonly flags: Readonly<Record<string, FlagValue>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 text; throws the platform's error. */
  readonly readFile: (path: string) => string;
  /** Directory that relative paths start from. */
  readonly cwd: string;
}

/** Where a value came from, from weak to strong. */
export const sources = ["default", "file", "environment", "flag"] as const;

/** One value of one key. */
interface Setting {
  readonly source: (typeof sources)[number];
  /** `gitaly.toml:12`, `GITALY_CLUSTER_REPLICAS`, `--insecure` or `default`. */
  readonly from: string;
  /** As it would stand in the file. */
  readonly raw: unknown;
  /** Checked and converted. */
  readonly value: unknown;
}

/** All sources put together, with everything that is wrong in any of them. */
export interface Merged {
  /** The strongest setting of each key that has one. */
  readonly settings: ReadonlyMap<KeyName, Setting>;
  readonly ignored: readonly string[];
  readonly problems: Problem[];
}

interface Candidate {
  readonly key: KeyName;
  readonly source: Setting["source"];
  readonly from: string;
  readonly where: string;
  readonly name: string;
  readonly raw: unknown;
}

/** File, then environment, then flags, each key checked in every source that sets it. Throws nothing. */
export function mergeSources(input: ConfigInput): Merged {
  const problems: Problem[] = [];
  const ignored: string[] = [];
  const settings = new Map<KeyName, Setting>();
  const candidates = [
    ...defaults(),
    ...fromFile(input, problems, ignored),
    ...fromEnv(input, problems, ignored),
    ...fromFlags(input, problems),
  ];
  for (const candidate of candidates) {
    const spec = keys[candidate.key] as KeySpec;
    const result = spec.schema.safeParse(candidate.raw);
    const unbuilt = notBuiltValue(candidate.key, candidate.raw);
    const note = (code: Problem["code"], message: string) => problems.push({ code, where: candidate.where, name: candidate.name, message });
    if (unbuilt) note("not_built_yet", unbuilt.sentence);
    else if (result.success)
      settings.set(candidate.key, { source: candidate.source, from: candidate.from, raw: candidate.raw, value: result.data });
    else for (const issue of result.error.issues) note("bad_config", issueText(spec.kind, issue.message, issue.path[0], candidate.raw));
  }
  return { settings, ignored, problems };
}

function issueText(kind: KeyKind, message: string, index: PropertyKey | undefined, raw: unknown): string {
  if ((kind === "list" || kind === "secrets") && typeof index === "number") return `entry ${index + 1} ${message}`;
  // URLs may hold a password, so they are not repeated either.
  const shown =
    kind === "url" || kind === "list" || kind === "secrets" || (typeof raw === "object" && raw !== null) ? "" : `, not ${display(raw)}`;
  return `${message}${shown}`;
}

function display(raw: unknown): string {
  return typeof raw === "string" ? JSON.stringify(raw.length > 60 ? `${raw.slice(0, 60)}…` : raw) : String(raw);
}

function keyNames(): KeyName[] {
  return Object.keys(keys) as KeyName[];
}

function defaults(): Candidate[] {
  return keyNames()
    .filter((key) => keys[key].default !== undefined)
    .map((key) => ({ key, source: "default", from: "default", where: "", name: key, raw: keys[key].default }));
}

function fromFile(input: ConfigInput, problems: Problem[], ignored: string[]): Candidate[] {
  const path = input.flags["config"];
  if (typeof path !== "string") return [];
  let text: string;
  try {
    text = input.readFile(path);
  } catch (error) {
    const why = errnoOf(error) ?? (CodedError.is(error) ? error.message : "unreadable");
    problems.push({ code: "bad_config", where: "command line", name: "--config", message: `cannot read ${path}: ${why}` });
    return [];
  }
  const content = readToml(text, path);
  problems.push(...content.problems);
  ignored.push(...content.ignored);
  return [...content.values].map(([name, { value, line }]) => {
    const from = `${path}:${line}`;
    return { key: name as KeyName, source: "file", from, where: from, name, raw: value };
  });
}

function fromEnv({ env }: ConfigInput, problems: Problem[], ignored: string[]): Candidate[] {
  const byName = new Map(keyNames().map((key) => [envName(key), key]));
  const found: Candidate[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("GITALY_") || text === undefined || text === "") continue;
    const key = byName.get(name);
    const unbuilt = key === undefined ? notBuiltEnv(name) : undefined;
    if (key !== undefined) {
      found.push({ key, source: "environment", from: name, where: "environment", name, raw: fromText(keys[key].kind, text) });
    } else if (unbuilt) problems.push({ code: "not_built_yet", where: "environment", name, message: unbuilt.sentence });
    else ignored.push(name);
  }
  return found;
}

function notBuiltEnv(name: string): NotBuilt | undefined {
  if (ignoredEnv.includes(name)) return undefined;
  return notBuilt.find((entry) => {
    if (entry.key === undefined || entry.values !== undefined || entry.shape === "array") return false;
    return name === envName(entry.key) || name.startsWith(`${envName(entry.key)}_`);
  });
}

function fromFlags({ flags }: ConfigInput, problems: Problem[]): Candidate[] {
  const found: Candidate[] = [];
  const add = (key: KeyName, flag: string, raw: RawValue) => {
    const name = `--${flag}`;
    if ([raw].flat().some((text) => typeof text === "string" && hasPassword(text))) {
      const message = `a URL with a password does not belong on the command line, where others can read it; use the file or ${envName(key)}`;
      problems.push({ code: "bad_config", where: "command line", name, message });
    } else found.push({ key, source: "flag", from: name, where: "command line", name, raw });
  };
  for (const { flag, sentence } of notBuilt) {
    if (flag === undefined || flags[flag] === undefined) continue;
    problems.push({ code: "not_built_yet", where: "command line", name: `--${flag}`, message: sentence });
  }
  for (const key of keyNames()) {
    const { flag, kind } = keys[key] as KeySpec;
    const given = flag === undefined ? undefined : flags[flag];
    if (flag === undefined || given === undefined) continue;
    if (key === "database.url") {
      const [primary, ...replicas] = [given].flat().map(String);
      if (primary !== undefined) add("database.url", flag, primary);
      // The servers of one flag belong together, so replicas of the file do not mix in.
      add("database.replicas", flag, replicas);
    } else
      add(
        key,
        flag,
        kind === "list" ? [given].flat().map(String) : typeof given === "string" ? fromText(kind, given) : (given as RawValue),
      );
  }
  return found;
}

/** What `text` stands for; text that is not of the kind stays as it is, for the check to refuse. */
function fromText(kind: KeyKind, text: string): RawValue {
  if (kind === "list" || kind === "secrets") {
    return text
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
  }
  if (kind === "boolean")
    return ({ true: true, "1": true, false: false, "0": false } as Record<string, boolean>)[text.toLowerCase()] ?? text;
  if (kind === "integer" && /^[+-]?\d{1,30}$/.test(text)) {
    return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
  }
  if (kind === "number" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  return text;
}
