import { CodedError, type Fields } from "../base/index.ts";
import { plain } from "./output.ts";

/** The command line is wrong; ends with exit code 2. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.name = "UsageError";
    this.hint = hint;
  }
}

/** What is printed for an error, and what the process exits with. */
export interface Explained {
  /** Lines for stderr. */
  readonly lines: readonly string[];
  readonly exitCode: 1 | 2;
}

interface Problem {
  readonly where: string;
  readonly name: string;
  readonly message: string;
}

/** Turns any error into lines for a person: never a stack. `addr` is the node that was asked, if one was. */
export function explainError(error: unknown, addr: string | undefined): Explained {
  if (error instanceof UsageError) return { lines: withHint(`gitaly: ${error.message}`, error.hint), exitCode: 2 };
  if (CodedError.is(error)) return explainCoded(error, addr);
  return { lines: [`gitaly: ${plain(error instanceof Error ? error.message : String(error))}`], exitCode: 1 };
}

function explainCoded(error: CodedError, addr: string | undefined): Explained {
  const problems = error.fields["problems"];
  if (Array.isArray(problems)) return { lines: (problems as Problem[]).map(problemLine), exitCode: 2 };
  const line = `gitaly: ${plain(error.message)}${fieldsText(error.fields)}`;
  switch (error.code) {
    case "not_built_yet":
      // A node that does not know a call says so with a status.
      if ("grpcCode" in error.fields) return { lines: [line], exitCode: 1 };
      return { lines: withHint(line, "docs/operations.md lists what is not built yet"), exitCode: 2 };
    case "bad_config":
      return { lines: [line], exitCode: 2 };
    case "data_dir_in_use":
      return { lines: withHint(line, inUseHint(error.fields["joinWith"])), exitCode: 1 };
    case "node_unavailable":
    case "redirect_exhausted":
      return { lines: withHint(line, unavailableHint(addr)), exitCode: 1 };
    default:
      return { lines: [line], exitCode: 1 };
  }
}

function inUseHint(joinWith: unknown): string {
  const command = typeof joinWith === "string" ? plain(joinWith) : "gitaly serve --join-addr URL";
  return `to add a node to its cluster: npx ${command}; for a cluster of its own: --data-dir DIR`;
}

function problemLine({ where, name, message }: Problem): string {
  return `gitaly: ${plain([where, name, message].filter((part) => part !== "").join(": "))}`;
}

function unavailableHint(addr: string | undefined): string | undefined {
  if (addr === undefined) return undefined;
  return `is a node running at ${plain(addr)}? start one with: npx gitaly serve; or name another with --addr URL`;
}

function withHint(line: string, hint: string | undefined): string[] {
  return hint === undefined ? [line] : [line, `hint: ${hint}`];
}

/** Fields for machines, or shown elsewhere. */
const hiddenFields = ["grpcCode", "method", "joinWith"];

/** The short fields of an error, in brackets. */
function fieldsText(fields: Fields): string {
  const shown = Object.entries(fields)
    .filter(
      ([name, value]) =>
        !hiddenFields.includes(name) &&
        ["string", "number", "bigint", "boolean"].includes(typeof value) &&
        value !== "" &&
        String(value).length <= 300,
    )
    .map(([name, value]) => `${name}: ${plain(String(value))}`);
  return shown.length === 0 ? "" : ` (${shown.join(", ")})`;
}
