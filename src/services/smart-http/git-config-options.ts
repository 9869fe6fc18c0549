import { CodedError } from "../../base/index.ts";

const maxOptions = 64;
const maxOptionBytes = 1024;

/** These tune speed, or allow what a node allows anyway: a caller loses nothing where they have no effect. */
const harmless: ReadonlySet<string> = new Set([
  "core.compression",
  "core.loosecompression",
  "gc.auto",
  "pack.compression",
  "pack.depth",
  "pack.threads",
  "pack.window",
  "pack.windowmemory",
  "protocol.version",
  "uploadpack.allowanysha1inwant",
  "uploadpack.allowfilter",
  "uploadpack.allowreachablesha1inwant",
  "uploadpack.allowtipsha1inwant",
]);

/**
 * Checks a request's `git_config_options`. None of them reaches git, whose configuration is the node's own: harmless ones are
 * passed over; any other is refused, because it could run something, or because a restriction would be lost in silence.
 *
 * Errors: `invalid_argument`, with the key.
 */
export function checkGitConfigOptions(options: readonly string[]): void {
  if (options.length > maxOptions) throw new CodedError("invalid_argument", "too many git_config_options", { limit: maxOptions });
  for (const option of options) {
    const separator = option.indexOf("=");
    if (separator <= 0 || option.length > maxOptionBytes) {
      throw new CodedError("invalid_argument", "git_config_options must have the form key=value");
    }
    const key = option.slice(0, separator).toLowerCase();
    if (!harmless.has(key)) {
      throw new CodedError("invalid_argument", `git_config_options: ${printable(key)} is not supported here`, { key });
    }
  }
}

function printable(key: string): string {
  return key.replaceAll(/[^a-z0-9._-]/g, "?").slice(0, 100);
}
